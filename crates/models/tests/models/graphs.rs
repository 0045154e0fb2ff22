//! The graphs of the supported architectures.

use std::collections::BTreeMap;

use graph::op::RopePairs;
use graph::{DType, Graph, Op, Shape, Source, Symbol};
use models::{ARCHITECTURES, BodyParams, Experts, Model, Slice, Tensors, inputs};

use crate::common::*;

fn model(arch: &str, preset: &str) -> Model {
    let file = file(arch, preset);
    Model::new(file.metadata(), Tensors::of(&file)).unwrap()
}

fn body(model: &Model) -> Graph {
    model.body(&BodyParams { n_ctx: 100, type_k: DType::F16, type_v: DType::F32 }).unwrap()
}

fn names(graph: &Graph, source: Source) -> Vec<&str> {
    graph.values_from(source).map(|(_, v)| v.name.as_str()).collect()
}

#[test]
fn graphs_of_every_architecture_are_valid() {
    for arch in ARCHITECTURES {
        for preset in ["micro", "tiny"] {
            let model = model(arch.name, preset);
            assert_eq!(model.config.arch.name, arch.name);
            graph::validate(&body(&model)).unwrap();
            graph::validate(&model.head().unwrap()).unwrap();
        }
    }
}

#[test]
fn inputs_are_found_by_name() {
    let model = model("llama", "micro");
    let expected =
        [inputs::TOKEN_IDS, inputs::POSITIONS, inputs::SEQUENCES, inputs::PAGE_TABLES, inputs::OUT_IDS];
    let graph = body(&model);
    assert_eq!(names(&graph, Source::Input), expected);
    // 100 positions need four pages of 32.
    let tables = graph.values.iter().find(|v| v.name == inputs::PAGE_TABLES).unwrap();
    assert_eq!(tables.shape, Shape::matrix(4, Symbol::Sequences));
    assert_eq!(names(&model.head().unwrap(), Source::Input), [inputs::HIDDEN]);
}

#[test]
fn every_tensor_of_the_file_is_read_once_by_name() {
    let others = ["qwen2", "qwen3", "qwen3moe", "gemma2", "gemma3", "phi3"].map(|arch| (arch, "micro"));
    for (arch, preset) in [("llama", "micro"), ("llama", "tiny")].into_iter().chain(others) {
        let file = file(arch, preset);
        let model = Model::new(file.metadata(), Tensors::of(&file)).unwrap();
        let (body, head) = (body(&model), model.head().unwrap());
        let mut read = [names(&body, Source::Weight), names(&head, Source::Weight)].concat();
        // Parts of a tensor, which are as many rows as it has.
        let mut rows: BTreeMap<String, usize> = BTreeMap::new();
        read.retain(|name| {
            let Slice { tensor, rows: Some(part) } = models::slice(name) else { return true };
            let next = rows.entry(tensor.to_owned()).or_default();
            assert_eq!(part.start, *next, "{name}");
            *next = part.end;
            false
        });
        for (tensor, rows) in &rows {
            assert_eq!(file.tensor(tensor).unwrap().ne(1), *rows as u64, "{tensor}");
            read.push(tensor);
        }
        let mut there: Vec<_> = file.tensors().iter().map(|t| t.name.as_str()).collect();
        if model.config.tied {
            there.push("token_embd.weight");
        }
        // A context of 100 is a short one.
        there.retain(|name| *name != "rope_factors_long.weight");
        read.sort_unstable();
        there.sort_unstable();
        assert_eq!(read, there, "{arch} {preset}");
    }
}

#[test]
fn each_layer_has_two_regions_of_its_types() {
    let graph = body(&model("qwen2", "micro"));
    let regions: Vec<_> =
        graph.regions.iter().map(|r| (r.name.as_str(), r.layer, r.dtype, r.heads, r.head_dim)).collect();
    let expected = [
        ("kv.0.k", 0, DType::F16, 2, 16),
        ("kv.0.v", 0, DType::F32, 2, 16),
        ("kv.1.k", 1, DType::F16, 2, 16),
        ("kv.1.v", 1, DType::F32, 2, 16),
    ];
    assert_eq!(regions, expected);
    for node in &graph.nodes {
        if let Op::KvStore(store) = &node.op {
            assert_eq!(store.context, 100, "stores past the context are refused");
        }
    }
}

#[test]
fn the_cache_is_written_before_it_is_read() {
    let graph = body(&model("llama", "micro"));
    let mut written = vec![false; graph.regions.len()];
    for id in graph.node_ids() {
        let facts = graph.facts(id);
        assert!(facts.reads.iter().all(|r| written[r.0 as usize]), "{}", graph.node(id).name);
        facts.writes.iter().for_each(|r| written[r.0 as usize] = true);
    }
    assert!(written.into_iter().all(|w| w));
}

#[test]
fn behind_the_last_attention_only_output_rows_are_computed() {
    let graph = body(&model("llama", "micro"));
    let rows = |name: &str| graph.values.iter().find(|v| v.name == name).unwrap().shape.0[1];
    for name in ["blk.0.ffn_down", "blk.1.attn_q", "blk.1.attention"] {
        assert_eq!(rows(name), Symbol::Tokens.into(), "{name}");
    }
    for name in ["blk.1.attn_output", "blk.1.ffn_gate", "blk.1.ffn_down"] {
        assert_eq!(rows(name), Symbol::Outputs.into(), "{name}");
    }
    let output = graph.value(graph.outputs[0]);
    assert_eq!((output.shape, output.dtype), (Shape::matrix(64, Symbol::Outputs), DType::F32));
}

#[test]
fn architectures_differ_where_they_should() {
    let (llama, qwen2) = (model("llama", "micro"), model("qwen2", "micro"));
    let pairs = |graph: &Graph| {
        let of = |op: &Op| if let Op::Rope(rope) = op { Some(rope.pairs) } else { None };
        graph.nodes.iter().filter_map(|n| of(&n.op)).collect::<Vec<_>>()
    };
    assert_eq!(pairs(&body(&llama)), [RopePairs::Neighbours; 4]);
    assert_eq!(pairs(&body(&qwen2)), [RopePairs::Halves; 4]);
    let biases = |graph: &Graph| graph.values.iter().filter(|v| v.name.ends_with(".bias")).count();
    assert_eq!((biases(&body(&llama)), biases(&body(&qwen2))), (0, 6));
    // The bias is added before the rotation.
    let graph = body(&qwen2);
    let rope = graph.nodes.iter().find(|n| n.name == "blk.0.rope_k").unwrap();
    assert_eq!(graph.value(rope.inputs[0]).name, "blk.0.attn_k.biased");

    assert!(!llama.config.tied && qwen2.config.tied);
    let matrix = |model: &Model| names(&model.head().unwrap(), Source::Weight)[1].to_owned();
    assert_eq!(matrix(&llama), "output.weight");
    assert_eq!(matrix(&qwen2), "token_embd.weight");
}

#[test]
fn rope_factors_are_used_where_the_file_has_them() {
    let table = |preset: &str| {
        let graph = body(&model("llama", preset));
        let node = graph.nodes.iter().find(|n| matches!(n.op, Op::RopeTable(_))).unwrap();
        node.inputs.iter().map(|v| graph.value(*v).name.clone()).collect::<Vec<_>>()
    };
    assert_eq!(table("micro"), ["positions"]);
    assert_eq!(table("tiny"), ["positions", "rope_freqs.weight"]);
}

#[test]
fn the_dequantized_model_has_only_f32_weights() {
    let model = model("qwen2", "micro");
    let types = |model: &Model| {
        let graph = body(model);
        let types: Vec<_> = graph.values_from(Source::Weight).map(|(_, v)| v.dtype).collect();
        types
    };
    assert!(types(&model).contains(&DType::Q8_0));
    assert!(types(&model.dequantized()).iter().all(|t| *t == DType::F32));
    let labels = |graph: &Graph| graph.nodes.iter().map(|n| n.name.clone()).collect::<Vec<_>>();
    assert_eq!(labels(&body(&model)), labels(&body(&model.dequantized())));
}

#[test]
fn scale_and_sizes_come_from_the_heads() {
    let graph = body(&model("llama", "tiny"));
    for node in &graph.nodes {
        if let Op::Attention(op) = &node.op {
            assert_eq!((op.heads, op.heads_kv, op.head_dim, op.scale), (4, 2, 64, 0.125));
        }
    }
    let config = &model("llama", "tiny").config;
    assert_eq!((config.n_embd_q(), config.n_embd_kv()), (256, 128));
}

/// Labels of the nodes of a layer, in order.
fn layer_of(graph: &Graph, layer: usize) -> Vec<&'static str> {
    graph
        .node_ids()
        .filter(|id| graph.node(*id).layer == Some(layer))
        .map(|id| graph.facts(id).label)
        .collect()
}

fn count(labels: &[&str], label: &str) -> usize {
    labels.iter().filter(|l| **l == label).count()
}

#[test]
fn heads_are_normed_by_themselves_before_they_turn() {
    for (arch, expected) in
        [("llama", 2), ("qwen2", 2), ("qwen3", 4), ("qwen3moe", 4), ("gemma2", 4), ("gemma3", 6), ("phi3", 2)]
    {
        let graph = body(&model(arch, "micro"));
        assert_eq!(count(&layer_of(&graph, 0), "rms_norm"), expected, "{arch}");
        let heads = graph.values.iter().find(|v| v.name == "blk.0.normed_k");
        assert_eq!(heads.is_some(), ["qwen3", "qwen3moe", "gemma3"].contains(&arch), "{arch}");
        if let Some(heads) = heads {
            // A row for each head of a token.
            assert_eq!(heads.shape.0[0], 32.into());
            let rope = graph.nodes.iter().find(|n| n.name == "blk.0.rope_k").unwrap();
            assert_eq!(graph.value(rope.inputs[0]).name, "blk.0.rows_k");
        }
    }
}

#[test]
fn experts_take_the_place_of_the_dense_network() {
    let model = model("qwen3moe", "micro");
    assert_eq!(model.config.experts, Some(Experts { count: 6, used: 2, n_ff: 96 }));
    let graph = body(&model);
    let labels = layer_of(&graph, 0);
    let tail = &labels[labels.iter().position(|l| *l == "route_experts").unwrap()..];
    let expected =
        ["route_experts", "mat_mul_id", "mat_mul_id", "swiglu", "mat_mul_id", "sum_experts", "add"];
    assert_eq!(tail, expected);
    for (name, shape) in [("gate", [64, 96, 6]), ("up", [64, 96, 6]), ("down", [96, 64, 6])] {
        let name = format!("blk.1.ffn_{name}_exps.weight");
        let weight = graph.values.iter().find(|v| v.name == name).unwrap();
        assert_eq!(weight.shape.0[..3], shape.map(Into::into), "{name}");
    }
    // What they say is weighted, not what they hear.
    let sum = graph.nodes.iter().find(|n| n.name == "blk.0.ffn_moe_out").unwrap();
    let route = graph.nodes.iter().find(|n| n.name == "blk.0.route").unwrap();
    assert_eq!(sum.inputs[1], route.outputs[1]);
}

/// Window and cap of the attention of each layer, and which rotation it has.
fn attention_of_layers(graph: &Graph) -> Vec<(Option<usize>, Option<f32>, String)> {
    let of = |node: &graph::Node| {
        let Op::Attention(op) = &node.op else { return None };
        let layer = node.layer.unwrap();
        let rope = graph.nodes.iter().find(|n| n.name == format!("blk.{layer}.rope_q")).unwrap();
        let tables = &graph.value(node.inputs[3]).name;
        let windowed = op.window.is_some();
        assert_eq!(tables, if windowed { inputs::PAGE_TABLES_WINDOW } else { inputs::PAGE_TABLES });
        for region in [op.k, op.v] {
            assert_eq!(graph.regions[region.0 as usize].window, op.window, "the cache knows its window");
        }
        Some((op.window, op.soft_cap, graph.value(rope.inputs[1]).name.clone()))
    };
    graph.nodes.iter().filter_map(of).collect()
}

#[test]
fn gemma_layers_have_windows_in_their_pattern() {
    let row = |window, cap, rope: &str| (window, cap, rope.to_owned());
    let windowed = row(Some(16), None, "rope_table_window");
    let mut expected = vec![windowed; 7];
    expected[5] = row(None, None, "rope_table");
    assert_eq!(attention_of_layers(&body(&model("gemma3", "micro"))), expected);

    let [even, odd] = [Some(16), None].map(|window| row(window, Some(4.0), "rope_table"));
    assert_eq!(attention_of_layers(&body(&model("gemma2", "micro"))), [even.clone(), odd, even]);

    for arch in ["llama", "qwen3", "qwen3moe", "phi3"] {
        let graph = body(&model(arch, "micro"));
        assert_eq!(attention_of_layers(&graph), vec![row(None, None, "rope_table"); 2], "{arch}");
        assert!(!names(&graph, Source::Input).contains(&inputs::PAGE_TABLES_WINDOW));
    }
}

#[test]
fn windowed_layers_of_gemma3_turn_by_a_base_of_their_own_and_are_not_stretched() {
    let stretch = ("gemma3.rope.scaling.factor", Some(8f32.into()));
    let tables = |changes: &[_]| {
        let graph = body(&model_with("gemma3", changes).unwrap());
        let of = |op: &Op| match op {
            Op::RopeTable(table) => Some((table.base, table.scaling.freq_scale)),
            _ => None,
        };
        graph.nodes.iter().filter_map(|n| of(&n.op)).collect::<Vec<_>>()
    };
    assert_eq!(tables(&[]), [(1e6, 1.0), (1e4, 1.0)]);
    assert_eq!(tables(std::slice::from_ref(&stretch)), [(1e6, 0.125), (1e4, 1.0)]);
    let base = ("gemma3.rope.freq_base_swa", Some(5e4f32.into()));
    assert_eq!(tables(&[stretch, base]), [(1e6, 0.125), (5e4, 1.0)]);
}

#[test]
fn gemma_scales_embeddings_and_norms_on_both_sides() {
    for (arch, cap) in [("gemma2", Some(6.0)), ("gemma3", None)] {
        let model = model(arch, "micro");
        let graph = body(&model);
        let scale =
            graph.nodes.iter().find_map(|n| if let Op::Scale(op) = &n.op { Some(op.factor) } else { None });
        assert_eq!(scale, Some(8.0), "the root of 64");
        let labels = layer_of(&graph, 0);
        assert_eq!((count(&labels, "geglu"), count(&labels, "swiglu")), (1, 0));
        // The norm of what a part gives comes before the sum.
        for (sum, norm) in [("attn_output", "post_attention_norm"), ("ffn_down", "post_ffw_norm")] {
            let sum = graph.nodes.iter().find(|n| n.name == format!("blk.0.{sum}.residual")).unwrap();
            assert_eq!(graph.value(sum.inputs[1]).name, format!("blk.0.{norm}"));
        }
        let head = model.head().unwrap();
        let found =
            head.nodes.iter().find_map(|n| if let Op::SoftCap(op) = &n.op { Some(op.cap) } else { None });
        assert_eq!(found, cap, "{arch}");
    }
}

#[test]
fn only_the_largest_gemmas_scale_scores_by_their_width() {
    // The layers count, so a model of so many is needed: its keys and shapes, of which no data are read.
    for (arch, layers, root) in
        [("gemma3", 62, 16f32), ("gemma3", 61, 32.0), ("gemma2", 46, 16.0), ("gemma2", 45, 32.0)]
    {
        let bytes = synthetic::build(arch, "micro", "Q8_0", 1, Some(layers)).unwrap();
        let file = gguf::GgufFile::from_bytes(&bytes).unwrap();
        let model = Model::new(file.metadata(), Tensors::of(&file)).unwrap();
        assert_eq!(model.config.attention_scale, (1.0 / f64::from(root).sqrt()) as f32, "{arch} of {layers}");
    }
}

#[test]
fn phi3_reads_parts_of_tensors() {
    let graph = body(&model("phi3", "micro"));
    let parts: Vec<_> = names(&graph, Source::Weight)
        .into_iter()
        .filter(|n| n.contains("blk.0") && n.ends_with(']'))
        .collect();
    let expected = [
        "blk.0.attn_qkv.weight[0..64]",
        "blk.0.attn_qkv.weight[64..80]",
        "blk.0.attn_qkv.weight[80..96]",
        "blk.0.ffn_up.weight[0..160]",
        "blk.0.ffn_up.weight[160..320]",
    ];
    assert_eq!(parts, expected);
    let glu = graph.nodes.iter().find(|n| n.name == "blk.0.glu").unwrap();
    let weight = |of: usize| {
        let product = graph.nodes.iter().find(|n| n.outputs == [glu.inputs[of]]).unwrap();
        graph.value(product.inputs[1]).name.as_str()
    };
    assert_eq!((weight(0), weight(1)), (expected[3], expected[4]), "the gate comes first");
}

#[test]
fn phi3_turns_a_part_of_a_head_by_factors_for_its_context() {
    let table = |preset, n_ctx| {
        let graph = model("phi3", preset).body(&BodyParams::new(n_ctx, DType::F16)).unwrap();
        let node = graph.nodes.iter().find(|n| matches!(n.op, Op::RopeTable(_))).unwrap();
        let Op::RopeTable(op) = &node.op else { unreachable!("found so") };
        assert_eq!((op.rot, op.base), (12, 1e4));
        assert!(op.scaling.attn_factor >= 1.0);
        graph.value(node.inputs[1]).name.clone()
    };
    let (short, long) = ("rope_factors_short.weight", "rope_factors_long.weight");
    assert_eq!(table("micro", 1024), short);
    assert_eq!(table("micro", 1025), long);
    assert_eq!(table("micro-long", 512), short);
    assert_eq!(table("micro-long", 513), long);
}
