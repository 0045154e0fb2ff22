//! Arenas of models: real sizes, described without their weights.

use backend::Fused;
use compile::{Arena, DeviceId, Options};
use graph::{DType, Extents, Graph, NodeId};
use models::{BodyParams, Model, Tensors};

use crate::common::*;

/// A model, as far as its header tells.
fn described(arch: &str, preset: &str, quant: &str, layers: Option<usize>) -> Model {
    let (metadata, tensors) = synthetic::header(arch, preset, quant, layers).unwrap();
    Model::new(&metadata, Tensors::of_table(&tensors)).unwrap()
}

fn qwen2_5() -> Model {
    described("qwen2", "qwen2.5-0.5b", "Q4_0", None)
}

fn body_of(model: &Model) -> Graph {
    model.body(&BodyParams::new(4096, DType::F16)).unwrap()
}

/// The arenas of a graph whose nodes prefer these devices, of two.
fn arenas(graph: &Graph, preferred: &[DeviceId], capacity: Extents, fusions: Fused) -> Vec<Arena> {
    let nulls = nulls(2);
    let prefer = |id: NodeId| preferred[id.0 as usize];
    let options = Options { fusions, ..Options::new(capacity) };
    compile::compile(graph.clone(), &as_devices(&nulls), &prefer, &options).unwrap().arenas
}

/// The arena of a graph on one device.
fn arena(graph: &Graph, capacity: Extents, fusions: Fused) -> Arena {
    arenas(graph, &vec![DeviceId(0); graph.nodes.len()], capacity, fusions).remove(0)
}

/// Body and head for one token and for many, with all rows going on to the head or one, with and without fusions, on
/// one device and on two.
fn all_arenas(model: &Model) -> Vec<(String, Extents, Arena)> {
    let mut all = Vec::new();
    for (graph, name) in [(body_of(model), "body"), (model.head().unwrap(), "head")] {
        let placements = [vec![DeviceId(0); graph.nodes.len()], last_layer_on_second(&graph)];
        for tokens in [1, 64, 440, 512] {
            for (outputs, fusions) in
                [(1, Fused::ALL), (1, Fused::NONE), (tokens, Fused::ALL), (tokens, Fused::NONE)]
            {
                let capacity = Extents { tokens, outputs, sequences: 4 };
                for (devices, preferred) in [1, 2].into_iter().zip(&placements) {
                    let config = &model.config;
                    let what = format!(
                        "{} of {} columns, {name} on {devices}, {capacity:?}, {fusions:?}",
                        config.arch.name, config.n_embd
                    );
                    for arena in arenas(&graph, preferred, capacity, fusions) {
                        assert!(arena.bytes <= arena.bytes_naive, "{what}");
                        all.push((what.clone(), capacity, arena));
                    }
                }
            }
        }
    }
    all
}

/// No more bytes than the best plan could do with, in every arena.
#[track_caller]
fn at_the_lower_bound(model: &Model) {
    for (what, _, arena) in all_arenas(model) {
        assert_eq!(arena.bytes, arena.bytes_lower_bound, "{what}");
    }
}

#[test]
fn arenas_of_qwen2_are_at_the_lower_bound() {
    at_the_lower_bound(&qwen2_5());
    at_the_lower_bound(&described("qwen2", "micro", "F16", Some(24)));
}

#[test]
fn arenas_of_llama_are_at_the_lower_bound() {
    at_the_lower_bound(&described("llama", "smollm2-135m", "Q4_1", None));
    at_the_lower_bound(&described("llama", "llama-3.2-1b", "Q4_0", None));
    at_the_lower_bound(&described("llama", "micro", "F32", Some(24)));
}

#[test]
fn arenas_of_qwen3_are_at_the_lower_bound() {
    for preset in ["qwen3-0.6b", "qwen3-4b"] {
        at_the_lower_bound(&described("qwen3", preset, "Q4_K_M", None));
    }
    at_the_lower_bound(&described("qwen3", "tiny", "Q4_K_M", Some(8)));
}

#[test]
fn arenas_of_gemma3_are_at_the_lower_bound() {
    for (preset, quant) in [("gemma-3-270m", "Q4_0"), ("gemma-3-1b", "Q8_0")] {
        at_the_lower_bound(&described("gemma3", preset, quant, None));
    }
    at_the_lower_bound(&described("gemma3", "micro", "F32", Some(14)));
    at_the_lower_bound(&described("gemma3", "tiny", "Q4_K_M", Some(12)));
}

#[test]
fn arenas_of_the_other_architectures_are_at_the_lower_bound() {
    at_the_lower_bound(&described("qwen3moe", "qwen3-30b-a3b", "Q4_K_M", Some(8)));
    at_the_lower_bound(&described("qwen3moe", "micro", "F32", Some(24)));
    for (arch, preset, quant) in
        [("gemma2", "tiny", "Q8_0"), ("gemma2", "micro", "F32"), ("phi3", "tiny", "Q8_0")]
    {
        at_the_lower_bound(&described(arch, preset, quant, Some(8)));
    }
}

#[test]
fn arenas_of_two_devices_are_at_the_lower_bound_wherever_a_model_is_split() {
    let capacity = Extents { tokens: 64, outputs: 1, sequences: 1 };
    for (arch, layers) in ARCHITECTURES {
        let graph = body_of(&described(arch, "tiny", "Q8_0", Some(layers)));
        for split in 0..=graph.nodes.len() {
            let preferred: Vec<_> =
                (0..graph.nodes.len()).map(|n| DeviceId(usize::from(n >= split))).collect();
            for fusions in [Fused::ALL, Fused::NONE] {
                for arena in arenas(&graph, &preferred, capacity, fusions) {
                    assert_eq!(arena.bytes, arena.bytes_lower_bound, "{arch} split at {split}, {fusions:?}");
                }
            }
        }
    }
}

const MIB: f64 = 1048576.0;

/// A prompt of 440 tokens in one batch without a fusion, of which one row goes on, takes 18.5 MiB; with a buffer for
/// each value it would be more than 1,000 MiB.
#[test]
fn a_whole_prompt_without_fusions_takes_a_fiftieth_of_a_buffer_for_each_value() {
    let capacity = Extents { tokens: 440, outputs: 1, sequences: 1 };
    let arena = arena(&body_of(&qwen2_5()), capacity, Fused::NONE);
    assert!(arena.bytes as f64 <= 19.6 * MIB, "{arena:?}");
    assert!(arena.bytes_naive as f64 >= 1000.0 * MIB, "{arena:?}");
}

/// The residual stream, the quantized input and result of the gated product, the table of the rotation: nothing else
/// lives when most does, since the product behind it goes into the residual stream.
#[test]
fn a_batch_of_512_with_fusions_takes_what_the_gated_product_needs() {
    let capacity = Extents { tokens: 512, outputs: 1, sequences: 1 };
    let arena = arena(&body_of(&qwen2_5()), capacity, Fused::ALL);
    let rows = |dtype: DType, columns: usize| dtype.row_bytes(columns) * capacity.tokens;
    let wide = rows(DType::F32, 896) + rows(DType::A32, 896) + rows(DType::A32, 4864) + rows(DType::F32, 64);
    let inputs = 3 * rows(DType::I32, 1) + 4096 / 32 * 4 + 64;
    assert_eq!(arena.bytes as usize, wide + inputs);
    assert!(arena.bytes as f64 <= 5.8 * MIB, "{arena:?}");
}

#[test]
fn arenas_grow_with_the_batch_and_with_nothing_else() {
    let graph = body_of(&qwen2_5());
    for fusions in [Fused::ALL, Fused::NONE] {
        let bytes = |tokens| arena(&graph, Extents { tokens, outputs: 1, sequences: 1 }, fusions).bytes;
        let of_a_token = (bytes(1024) - bytes(512)) / 512;
        for tokens in [32, 64, 128, 256, 512, 1024] {
            let rest = bytes(tokens) - of_a_token * tokens as u64;
            assert!(rest <= 4096, "{tokens} tokens: {rest} bytes beside {of_a_token} a token");
        }
    }
}
