//! The graphs of the supported architectures.

use graph::op::RopePairs;
use graph::{DType, Graph, Op, Shape, Source, Symbol};
use models::{BodyParams, Model, Tensors, inputs};

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
    for (arch, preset) in [("llama", "micro"), ("llama", "tiny"), ("qwen2", "micro"), ("qwen2", "tiny")] {
        let model = model(arch, preset);
        assert_eq!(model.config.arch.name, arch);
        graph::validate(&body(&model)).unwrap();
        graph::validate(&model.head().unwrap()).unwrap();
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
    for (arch, preset) in [("llama", "micro"), ("llama", "tiny"), ("qwen2", "micro")] {
        let file = file(arch, preset);
        let model = Model::new(file.metadata(), Tensors::of(&file)).unwrap();
        let (body, head) = (body(&model), model.head().unwrap());
        let mut read = [names(&body, Source::Weight), names(&head, Source::Weight)].concat();
        let mut there: Vec<_> = file.tensors().iter().map(|t| t.name.as_str()).collect();
        if model.config.tied {
            there.push("token_embd.weight");
        }
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
