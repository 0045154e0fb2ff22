//! Rewriting keeps every id right.

use graph::op::{Add, MatMul, Quantize, RmsNorm};
use graph::{DType, Editor, Graph, Node, NodeId, Source, validate};

use crate::common::*;

fn editor(graph: Graph) -> Editor<usize> {
    let side = (0..graph.nodes.len()).collect();
    Editor::new(graph, side)
}

fn find(graph: &Graph, name: &str) -> NodeId {
    NodeId(graph.nodes.iter().position(|n| n.name == name).unwrap() as u32)
}

/// Nodes by name with the names of what they read: what stays the same when ids change.
fn by_names(graph: &Graph) -> Vec<(&str, Vec<&str>)> {
    let names = |n: &Node| n.inputs.iter().map(|v| graph.values[v.0 as usize].name.as_str()).collect();
    // Names of nodes live as long as the graph.
    graph.nodes.iter().map(|n| (n.name.as_str(), names(n))).collect()
}

#[test]
fn no_change_is_identity() {
    let graph = layer();
    let (same, side) = editor(graph.clone()).finish();
    assert_eq!(same, graph);
    assert!(side.iter().copied().eq(0..graph.nodes.len()));
}

#[test]
fn values_that_nothing_names_go() {
    let mut b = graph::Builder::new();
    b.input("unread", rows(), DType::F32);
    let x = b.input("x", rows(), DType::F32);
    b.weight("unread too", rows(), DType::F32);
    let y = b.one("y", Add, &[x, x]).unwrap();
    let dead = b.one("dead", Add, &[x, x]).unwrap();
    b.output(y);
    let (graph, _) = editor(b.finish()).finish();
    validate(&graph).unwrap();
    let names: Vec<_> = graph.values.iter().map(|v| v.name.as_str()).collect();
    assert_eq!(names, ["x", "y", "dead"], "a value that a node writes stays, read or not");
    assert_eq!(dead.0, 4);
}

#[test]
fn an_inserted_node_moves_ids_and_takes_its_side_entry() {
    let graph = layer();
    let before = by_names(&graph).into_iter().map(|(n, i)| (n.to_owned(), i.len())).collect::<Vec<_>>();
    let product = find(&graph, "projected");
    let mut e = editor(graph.clone());
    let attended = graph.node(product).inputs[0];
    let quantized = e.value("quantized".into(), rows(), DType::A32);
    let node = Node {
        op: Quantize.into(),
        inputs: vec![attended],
        outputs: vec![quantized],
        name: "quantize".into(),
        layer: Some(0),
    };
    e.insert_before(product, node, 77);
    let square = e.graph().node(product).inputs[1];
    e.set_input(product, 0, quantized);
    assert_eq!(e.graph().node(product).inputs, [quantized, square]);
    let (mut edited, side) = e.finish();
    // The product reads quantized activations now, which only quantized weights take.
    let square = edited.values.iter().position(|v| v.name == "square").unwrap();
    edited.values[square].dtype = DType::Q8_0;
    validate(&edited).unwrap();
    let at = product.0 as usize;
    assert_eq!(edited.nodes[at].name, "quantize");
    assert_eq!((side[at - 1], side[at], side[at + 1]), (at - 1, 77, at));
    let names = by_names(&edited);
    assert_eq!(names[at], ("quantize", vec!["attended"]));
    assert_eq!(names[at + 1], ("projected", vec!["quantized", "square"]));
    let mut rest: Vec<_> = names.iter().map(|(n, i)| ((*n).to_owned(), i.len())).collect();
    rest.remove(at);
    assert_eq!(rest, before);
}

#[test]
fn several_nodes_inserted_in_one_place_keep_their_order() {
    let graph = layer();
    let sum = find(&graph, "sum");
    let x = graph.node(sum).inputs[0];
    let mut e = editor(graph);
    let mut last = x;
    for name in ["first", "second"] {
        let value = e.value(name.into(), rows(), DType::F32);
        let (op, inputs) = (Add.into(), vec![last, x]);
        e.insert_before(sum, Node { op, inputs, outputs: vec![value], name: name.into(), layer: None }, 0);
        last = value;
    }
    e.set_input(sum, 0, last);
    let (graph, _) = e.finish();
    validate(&graph).unwrap();
    let at = find(&graph, "sum").0 as usize;
    let names: Vec<_> = graph.nodes[at - 2..=at].iter().map(|n| n.name.as_str()).collect();
    assert_eq!(names, ["first", "second", "sum"]);
}

#[test]
fn a_removed_node_is_replaced_by_another_that_writes_its_value() {
    // `sum` and the product before it become one product that writes the value of `sum`.
    let graph = layer();
    let (product, sum) = (find(&graph, "projected"), find(&graph, "sum"));
    let (inputs, outputs) = (graph.node(product).inputs.clone(), graph.node(sum).outputs.clone());
    let mut e = editor(graph);
    assert!(!e.is_removed(sum));
    e.replace(product, MatMul, inputs, outputs);
    e.remove(sum);
    assert!(e.is_removed(sum) && !e.is_removed(product));
    let (graph, side) = e.finish();
    validate(&graph).unwrap();
    assert!(!side.contains(&(sum.0 as usize)));
    let value = graph.values.iter().find(|v| v.name == "sum").unwrap();
    assert_eq!(value.source, Source::Node { node: product, index: 0 });
    assert!(graph.values.iter().all(|v| v.name != "projected"), "nothing writes it any more");
    let node = graph.node(product);
    assert_eq!((node.name.as_str(), node.layer), ("projected", Some(0)), "name and layer stay");
}

#[test]
#[should_panic(expected = "a value is read that no node writes any more")]
fn removing_what_is_still_read_is_a_defect_of_the_pass() {
    let graph = layer();
    let normed = find(&graph, "normed");
    let mut e = editor(graph);
    e.remove(normed);
    e.finish();
}

#[test]
fn regions_and_outputs_stay() {
    let graph = layer();
    let norm = find(&graph, "normed");
    let inputs = graph.node(norm).inputs.clone();
    let outputs = graph.node(norm).outputs.clone();
    let mut e = editor(graph.clone());
    e.replace(norm, RmsNorm { eps: 1.0, to: DType::F32 }, inputs, outputs);
    let (edited, _) = e.finish();
    assert_eq!(edited.regions, graph.regions);
    assert_eq!(edited.outputs, graph.outputs);
    assert_eq!(edited.values, graph.values);
}
