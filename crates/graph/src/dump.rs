//! Dumps of a graph: text for golden files, DOT for pictures, JSON for programs.

use std::fmt::Write;

use serde_json::{Value as Json, json};

use crate::{Graph, NodeId, Source, ValueId};

/// Fill colours of devices in pictures, by number.
const COLOURS: [&str; 6] = ["#cfe8ff", "#ffe2c4", "#d8f3d0", "#f3d0ee", "#fff3b0", "#d9d9d9"];

/// A line a node, in execution order; `device` names the device of each node if one was given to it.
pub fn to_text(graph: &Graph, device: impl Fn(NodeId) -> Option<usize>) -> String {
    let mut out = String::new();
    for id in graph.node_ids() {
        let node = graph.node(id);
        let list = |ids: &[ValueId]| ids.iter().map(|v| operand(graph, *v)).collect::<Vec<_>>().join(", ");
        let on = device(id).map(|d| format!(" @{d}")).unwrap_or_default();
        let outputs: Vec<_> = node
            .outputs
            .iter()
            .map(|v| format!("{v}:{}{}", graph.value(*v).dtype, graph.value(*v).shape))
            .collect();
        let arrow = if outputs.is_empty() { String::new() } else { format!("{} = ", outputs.join(", ")) };
        let _ = writeln!(
            out,
            "{id}{on} {arrow}{}({}) \"{}\"{}",
            node.op.facts().label,
            list(&node.inputs),
            node.name,
            touched(graph, id)
        );
    }
    let outputs: Vec<_> = graph.outputs.iter().map(ValueId::to_string).collect();
    let _ = writeln!(out, "outputs {}", outputs.join(", "));
    out
}

/// A GraphViz picture: boxes of nodes with their ids, coloured by device; edges carry shapes.
pub fn to_dot(graph: &Graph, device: impl Fn(NodeId) -> Option<usize>) -> String {
    let mut out =
        String::from("digraph minfer {\n  node [shape=box, style=filled, fontname=\"sans-serif\"];\n");
    for id in graph.node_ids() {
        let node = graph.node(id);
        let number = device(id).unwrap_or(0);
        let _ = writeln!(
            out,
            "  n{} [label=\"{id} {}\\n{}\", fillcolor=\"{}\", tooltip=\"device {number}\"];",
            id.0,
            node.op.facts().label,
            node.name,
            COLOURS[number % COLOURS.len()]
        );
        for input in &node.inputs {
            let value = graph.value(*input);
            let from = match value.source {
                Source::Node { node, .. } => format!("n{}", node.0),
                Source::Input | Source::Weight => format!("v{}", input.0),
            };
            let _ = writeln!(out, "  {from} -> n{} [label=\"{} {}\"];", id.0, value.dtype, value.shape);
        }
    }
    for (i, value) in graph.values.iter().enumerate() {
        let shape = match value.source {
            Source::Input => "ellipse",
            Source::Weight => "note",
            Source::Node { .. } => continue,
        };
        let _ = writeln!(out, "  v{i} [label=\"{}\", shape={shape}, fillcolor=\"#ffffff\"];", value.name);
    }
    out.push_str("}\n");
    out
}

/// The whole graph as JSON, with the device of each node.
pub fn to_json(graph: &Graph, device: impl Fn(NodeId) -> Option<usize>) -> Json {
    let nodes: Vec<Json> = graph
        .node_ids()
        .map(|id| {
            let node = graph.node(id);
            json!({
                "id": id.0,
                "label": node.op.facts().label,
                "op": node.op,
                "name": node.name,
                "layer": node.layer,
                "device": device(id),
                "inputs": node.inputs,
                "outputs": node.outputs,
            })
        })
        .collect();
    let values: Vec<Json> = graph
        .values
        .iter()
        .enumerate()
        .map(|(i, v)| json!({"id": i, "name": v.name, "dtype": v.dtype, "shape": v.shape.to_string(), "source": v.source}))
        .collect();
    json!({"nodes": nodes, "values": values, "regions": graph.regions, "outputs": graph.outputs})
}

fn operand(graph: &Graph, id: ValueId) -> String {
    let value = graph.value(id);
    match value.source {
        Source::Node { .. } => id.to_string(),
        Source::Input => value.name.clone(),
        Source::Weight => format!("{}:{}", value.name, value.dtype),
    }
}

fn touched(graph: &Graph, id: NodeId) -> String {
    let facts = graph.facts(id);
    let names = |ids: &[crate::RegionId]| {
        ids.iter().map(|r| graph.region(*r).name.clone()).collect::<Vec<_>>().join(", ")
    };
    let mut out = String::new();
    if !facts.reads.is_empty() {
        let _ = write!(out, " reads {}", names(&facts.reads));
    }
    if !facts.writes.is_empty() {
        let _ = write!(out, " writes {}", names(&facts.writes));
    }
    out
}
