//! Every rule, broken.

use graph::{DType, Graph, GraphError, NodeId, RegionId, Shape, Source, ValueId, op, validate};

use crate::common::*;

/// The error of a good graph after a change.
#[track_caller]
fn broken(change: impl FnOnce(&mut Graph)) -> GraphError {
    let mut graph = layer();
    validate(&graph).expect("good before the change");
    change(&mut graph);
    validate(&graph).expect_err("broken by the change")
}

/// The first node of that name.
fn node(graph: &Graph, name: &str) -> usize {
    graph.nodes.iter().position(|n| n.name == name).unwrap()
}

fn output(graph: &Graph, name: &str) -> ValueId {
    graph.nodes[node(graph, name)].outputs[0]
}

#[test]
fn ids_must_be_inside_the_graph() {
    let dangling = |error, place: &str, what: &str| {
        assert_eq!(error, GraphError::Dangling { place: place.into(), what: what.into() });
    };
    let error = broken(|g| {
        let n = node(g, "sum");
        g.nodes[n].inputs[1] = ValueId(99);
    });
    dangling(error, "node sum", "value %99");
    let error = broken(|g| {
        let n = node(g, "sum");
        g.nodes[n].outputs[0] = ValueId(99);
    });
    dangling(error, "node sum", "value %99");
    dangling(broken(|g| g.outputs[0] = ValueId(99)), "outputs", "value %99");
    let error = broken(|g| {
        g.regions.pop();
    });
    dangling(error, "node store_v", "region 1");
    let error = broken(|g| {
        let n = node(g, "attended");
        let op::Attention { heads, heads_kv, head_dim, scale, k, .. } = match &g.nodes[n].op {
            graph::Op::Attention(op) => op.clone(),
            _ => unreachable!(),
        };
        g.nodes[n].op = op::Attention {
            k,
            v: RegionId(7),
            heads,
            heads_kv,
            head_dim,
            scale,
            soft_cap: None,
            window: None,
        }
        .into();
    });
    dangling(error, "node attended", "region 7");
}

#[test]
fn a_cycle_or_a_forward_edge_is_refused() {
    let error = broken(|g| {
        let (n, sum) = (node(g, "normed"), output(g, "sum"));
        g.nodes[n].inputs[0] = sum;
    });
    let [node_name, value, writer] = ["normed", "sum", "sum"].map(str::to_owned);
    assert_eq!(error, GraphError::Order { node: node_name, value, writer });

    let error = broken(|g| {
        let (n, own) = (node(g, "sum"), output(g, "sum"));
        g.nodes[n].inputs[0] = own;
    });
    assert!(matches!(error, GraphError::Order { node, writer, .. } if node == "sum" && writer == "sum"));
}

#[test]
fn nodes_in_another_order_are_refused() {
    // The sources follow the nodes, so that only the order is wrong.
    let error = broken(|g| {
        let (a, b) = (node(g, "projected"), node(g, "sum"));
        assert_eq!(a + 1, b);
        g.nodes.swap(a, b);
        for n in [a, b] {
            let value = g.nodes[n].outputs[0];
            g.values[value.0 as usize].source = Source::Node { node: NodeId(n as u32), index: 0 };
        }
    });
    assert!(
        matches!(error, GraphError::Order { node, writer, .. } if node == "sum" && writer == "projected")
    );
}

#[test]
fn a_value_has_exactly_one_writer() {
    let writer = |error, name: &str| assert_eq!(error, GraphError::Writer { value: name.into() });
    let error = broken(|g| {
        let (n, first) = (node(g, "sum"), output(g, "projected"));
        g.nodes[n].outputs[0] = first;
    });
    writer(error, "projected");
    let error = broken(|g| {
        let n = node(g, "sum");
        g.nodes[n].outputs.clear();
    });
    writer(error, "sum");
    let error = broken(|g| {
        let value = output(g, "sum");
        g.values[value.0 as usize].source = Source::Node { node: NodeId(0), index: 0 };
    });
    writer(error, "sum");
    let error = broken(|g| {
        let value = output(g, "sum");
        g.values[value.0 as usize].source = Source::Node { node: NodeId(6), index: 1 };
    });
    writer(error, "sum");
    let error = broken(|g| {
        let value = output(g, "sum");
        g.values[value.0 as usize].source = Source::Weight;
    });
    writer(error, "sum");
    let error = broken(|g| {
        let input = g.values.iter().position(|v| v.name == "ids").unwrap();
        g.values[input].source = Source::Node { node: NodeId(0), index: 0 };
    });
    writer(error, "ids");
}

#[test]
fn shapes_and_types_must_follow_the_operations() {
    let shape = |error: GraphError, name: &str, part: &str| {
        let GraphError::Shape { node, reason } = error else { panic!("{error}") };
        assert_eq!(node, name);
        assert!(reason.contains(part), "{reason}");
    };
    let error = broken(|g| {
        let value = output(g, "sum");
        g.values[value.0 as usize].shape = Shape::matrix(N, 3);
    });
    shape(error, "sum", "outputs");
    let error = broken(|g| {
        let value = output(g, "out");
        g.values[value.0 as usize].dtype = DType::F16;
    });
    shape(error, "out", "outputs");
    let error = broken(|g| {
        let weight = g.values.iter().position(|v| v.name == "square").unwrap();
        g.values[weight].shape = Shape::matrix(N + 1, N);
    });
    shape(error, "projected", "rows of 64");
    let error = broken(|g| {
        let n = node(g, "sum");
        g.nodes[n].inputs.pop();
    });
    shape(error, "sum", "expected 2 inputs, found 1");
}

#[test]
fn names_of_inputs_and_of_weights_are_unique() {
    let rename = |from: &'static str, to: &'static str| {
        broken(move |g| {
            let value = g.values.iter().position(|v| v.name == from).unwrap();
            g.values[value].name = to.into();
        })
    };
    let error = rename("positions", "ids");
    assert_eq!(error, GraphError::Name { kind: "inputs", name: "ids".into() });
    let error = rename("square", "table");
    assert_eq!(error, GraphError::Name { kind: "weights", name: "table".into() });

    // An input and a weight may have one name, and names of computed values only describe.
    let mut graph = layer();
    for (from, to) in [("table", "ids"), ("sum", "x")] {
        let value = graph.values.iter().position(|v| v.name == from).unwrap();
        graph.values[value].name = to.into();
    }
    validate(&graph).unwrap();
}

#[test]
fn the_builder_refuses_what_does_not_fit_and_says_where() {
    let mut b = graph::Builder::new();
    let x = b.input("x", rows(), DType::F32);
    let wrong = b.weight("wrong", Shape::matrix(32, 8), DType::F32);
    let error = b.one("product", op::MatMul, &[x, wrong]).unwrap_err();
    assert_eq!(error.to_string(), "node product: input 1: expected rows of 64, found [32, 8]");
    // The refused node is not there.
    assert!(b.finish().nodes.is_empty());
}

#[test]
fn a_weight_of_one_name_is_one_value() {
    let mut b = graph::Builder::new();
    let [a, again] = [(); 2].map(|()| b.weight("w", Shape::row(N), DType::F32));
    let other = b.weight("v", Shape::row(N), DType::F32);
    assert_eq!(a, again);
    assert_ne!(a, other);
}
