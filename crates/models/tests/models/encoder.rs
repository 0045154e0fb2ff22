//! The graphs of encoders.

use graph::{DType, Graph, Op, Source};
use models::{BodyParams, Model, ModelError, Output, Pooling, Tensors, inputs};

use crate::common::*;

fn bert(changes: &[(&str, Option<gguf::Value>)]) -> Result<Model, ModelError> {
    let file = file("bert", "micro");
    Model::new(&with_keys(file.metadata(), changes), Tensors::of(&file))
}

fn body(model: &Model) -> Graph {
    model.body(&BodyParams { n_ctx: 100, type_k: DType::F16, type_v: DType::F32 }).unwrap()
}

fn names(graph: &Graph, source: Source) -> Vec<&str> {
    graph.values_from(source).map(|(_, v)| v.name.as_str()).collect()
}

#[test]
fn every_token_of_an_encoder_sees_up_to_the_last_one() {
    let graph = body(&bert(&[]).unwrap());
    let place_of = |wanted: fn(&Op) -> bool| -> Vec<&str> {
        let nodes = graph.nodes.iter().filter(|node| wanted(&node.op));
        nodes.map(|node| graph.value(node.inputs[1]).name.as_str()).collect()
    };
    assert_eq!(place_of(|op| matches!(op, Op::Attention(_))), [inputs::LAST_POSITIONS; 2]);
    assert_eq!(place_of(|op| matches!(op, Op::KvStore(_))), [inputs::POSITIONS; 4]);
}

#[test]
fn layers_of_an_encoder_share_one_pair_of_regions_in_turns() {
    let graph = body(&bert(&[]).unwrap());
    let regions: Vec<_> = graph.regions.iter().map(|r| (r.name.as_str(), r.dtype)).collect();
    assert_eq!(regions, [("kv.k", DType::F16), ("kv.v", DType::F32)]);
    let order: Vec<&str> = graph
        .nodes
        .iter()
        .filter_map(|node| match node.op {
            Op::KvStore(_) => Some("store"),
            Op::Attention(_) => Some("read"),
            _ => None,
        })
        .collect();
    assert_eq!(order, ["store", "store", "read"].repeat(2));
}

#[test]
fn every_tensor_of_an_encoder_is_read_and_of_types_of_tokens_the_first_row() {
    let file = file("bert", "micro");
    let model = bert(&[]).unwrap();
    let (body, head) = (body(&model), model.head().unwrap());
    let mut read = [names(&body, Source::Weight), names(&head, Source::Weight)].concat();
    assert!(read.contains(&"token_types.weight[0..1]"));
    read.iter_mut().for_each(|name| *name = models::slice(name).tensor);
    let mut there: Vec<_> = file.tensors().iter().map(|t| t.name.as_str()).collect();
    read.sort_unstable();
    there.sort_unstable();
    assert_eq!(read, there);
}

#[test]
fn an_encoder_gives_normed_rows_whatever_is_asked_for() {
    let model = bert(&[]).unwrap();
    for output in [Output::Logits, Output::Hidden] {
        assert_eq!(model.row_width(output), 64);
        let head = model.head_for(output).unwrap();
        assert_eq!(head.value(head.outputs[0]).name, "blk.1.layer_output_norm");
    }
    let decoder =
        Model::new(file("qwen2", "micro").metadata(), Tensors::of(&file("qwen2", "micro"))).unwrap();
    assert_eq!((decoder.row_width(Output::Logits), decoder.row_width(Output::Hidden)), (320, 64));
    let hidden = decoder.head_for(Output::Hidden).unwrap();
    graph::validate(&hidden).unwrap();
    assert_eq!(names(&hidden, Source::Weight), ["output_norm.weight"]);
}

#[test]
fn what_no_encoder_can_be_is_refused_by_key() {
    let error = bert(&[("bert.attention.causal", Some(true.into()))]).unwrap_err().to_string();
    assert!(error.starts_with("key bert.attention.causal is true: expected false"), "{error}");
    let error = bert(&[("bert.pooling_type", Some(5u32.into()))]).unwrap_err().to_string();
    assert_eq!(error, "key bert.pooling_type is 5: expected 0 to 4");
    let error = bert(&[]).unwrap().body(&BodyParams::new(513, DType::F32)).unwrap_err().to_string();
    assert_eq!(error, "a context of 513 positions: the file has embeddings of 512");
    let error = bert(&[("bert.context_length", Some(256u32.into()))]).unwrap_err().to_string();
    assert!(
        error.starts_with("tensor position_embd.weight has shape [64, 512]: expected [64, 256]"),
        "{error}"
    );
}

#[test]
fn pooling_is_what_the_file_states() {
    let stated = |value: u32| bert(&[("bert.pooling_type", Some(value.into()))]).unwrap().config.pooling;
    let all = [None, Some(Pooling::Mean), Some(Pooling::Cls), Some(Pooling::Last), Some(Pooling::Rank)];
    assert_eq!([0, 1, 2, 3, 4].map(stated), all);
    assert_eq!(bert(&[("bert.pooling_type", None)]).unwrap().config.pooling, None);
    for pooling in all.into_iter().flatten() {
        assert_eq!(Pooling::from_name(pooling.name()), Some(pooling));
    }
    assert_eq!(Pooling::from_name("none"), None);
}
