//! Dumps, word for word.

use graph::{Builder, DType, Graph, Shape, Symbol, op, to_dot, to_json, to_text};

use crate::common::*;

/// The first node on device 0, the others on device 1.
fn device(id: graph::NodeId) -> Option<usize> {
    Some(usize::from(id.0 > 0))
}

/// Two nodes, with one of each kind of value.
fn two_nodes() -> Graph {
    let mut b = Builder::new();
    let x = b.input("x", rows(), DType::F32);
    let w = b.weight("w", Shape::matrix(N, 8), DType::F16);
    let y = b.one("y", op::MatMul, &[x, w]).unwrap();
    b.set_layer(Some(3));
    let z = b.one("z", op::Add, &[y, y]).unwrap();
    b.output(z);
    b.finish()
}

#[test]
fn text_has_a_line_a_node() {
    let expected = "\
#0 @0 %6:F32[64, Tokens] = get_rows(table:Q8_0, ids) \"x\"
#1 @1 %8:F32[64, Tokens] = rms_norm(%6, scale:F32) \"normed\"
#2 @1 kv_store(%8, positions, sequences, tables) \"store_k\" writes kv.0.k
#3 @1 kv_store(%8, positions, sequences, tables) \"store_v\" writes kv.0.v
#4 @1 %9:F32[64, Tokens] = attention(%8, positions, sequences, tables) \"attended\" reads kv.0.k, kv.0.v
#5 @1 %11:F32[64, Tokens] = mat_mul(%9, square:F16) \"projected\"
#6 @1 %12:F32[64, Tokens] = add(%6, %11) \"sum\"
#7 @1 %13:F32[64, Outputs] = get_rows(%12, out_ids) \"out\"
outputs %13
";
    assert_eq!(to_text(&layer(), device), expected);
    let without = to_text(&layer(), |_| None);
    assert_eq!(without, expected.replace(" @0", "").replace(" @1", ""));
}

#[test]
fn dot_is_a_picture_with_device_colours() {
    let expected = "\
digraph minfer {
  node [shape=box, style=filled, fontname=\"sans-serif\"];
  n0 [label=\"#0 mat_mul\\ny\", fillcolor=\"#cfe8ff\", tooltip=\"device 0\"];
  v0 -> n0 [label=\"F32 [64, Tokens]\"];
  v1 -> n0 [label=\"F16 [64, 8]\"];
  n1 [label=\"#1 add\\nz\", fillcolor=\"#ffe2c4\", tooltip=\"device 1\"];
  n0 -> n1 [label=\"F32 [8, Tokens]\"];
  n0 -> n1 [label=\"F32 [8, Tokens]\"];
  v0 [label=\"x\", shape=ellipse, fillcolor=\"#ffffff\"];
  v1 [label=\"w\", shape=note, fillcolor=\"#ffffff\"];
}
";
    assert_eq!(to_dot(&two_nodes(), device), expected);
}

#[test]
fn json_holds_the_whole_graph() {
    let expected = serde_json::json!({
        "nodes": [
            {
                "id": 0, "label": "mat_mul", "op": {"MatMul": null}, "name": "y", "layer": null,
                "device": 0, "inputs": [0, 1], "outputs": [2],
            },
            {
                "id": 1, "label": "add", "op": {"Add": null}, "name": "z", "layer": 3,
                "device": 1, "inputs": [2, 2], "outputs": [3],
            },
        ],
        "values": [
            {"id": 0, "name": "x", "dtype": "F32", "shape": "[64, Tokens]", "source": "Input"},
            {"id": 1, "name": "w", "dtype": "F16", "shape": "[64, 8]", "source": "Weight"},
            {
                "id": 2, "name": "y", "dtype": "F32", "shape": "[8, Tokens]",
                "source": {"Node": {"node": 0, "index": 0}},
            },
            {
                "id": 3, "name": "z", "dtype": "F32", "shape": "[8, Tokens]",
                "source": {"Node": {"node": 1, "index": 0}},
            },
        ],
        "regions": [],
        "outputs": [3],
    });
    assert_eq!(to_json(&two_nodes(), device), expected);
    let regions = &to_json(&layer(), device)["regions"];
    assert_eq!(
        regions[0],
        serde_json::json!({"name": "kv.0.k", "layer": 0, "dtype": "F16", "heads": 2, "head_dim": 32, "window": null})
    );
}

#[test]
fn a_graph_survives_serialization() {
    let graph = layer();
    let json = serde_json::to_string(&graph).unwrap();
    assert_eq!(serde_json::from_str::<Graph>(&json).unwrap(), graph);
}

#[test]
fn outputs_of_one_node_are_told_apart() {
    let mut b = Builder::new();
    let x = b.input("x", Shape::matrix(N, Symbol::Tokens), DType::F32);
    let weights = ["v", "w"].map(|name| b.weight(name, Shape::matrix(N, 8), DType::F16));
    b.node("y", op::MatMul, &[x, weights[0], weights[1]]).unwrap();
    let text = to_text(&b.finish(), |_| None);
    assert!(
        text.starts_with("#0 %3:F32[8, Tokens], %4:F32[8, Tokens] = mat_mul(x, v:F16, w:F16) \"y\""),
        "{text}"
    );
}
