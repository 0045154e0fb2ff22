//! Random graphs.

use arbtest::arbitrary::{Result, Unstructured};
use graph::op::{Add, AddNorm, GetRows, Glu, MatMul, Quantize, RmsNorm, View};
use graph::{Builder, DType, Editor, Graph, GraphError, Shape, Source, Symbol, ValueId, validate};

use crate::common::*;

#[test]
fn what_the_builder_builds_is_valid() {
    arbtest::arbtest(|u| {
        let graph = random_graph(u)?;
        validate(&graph).unwrap();
        // A node is read by later ones only, and reads are listed where they are.
        let readers = graph.readers();
        for id in graph.node_ids() {
            for input in &graph.node(id).inputs {
                assert!(readers[input.0 as usize].contains(&id));
            }
            for output in &graph.node(id).outputs {
                assert!(readers[output.0 as usize].iter().all(|r| *r > id));
            }
        }
        let json = serde_json::to_string(&graph).unwrap();
        assert_eq!(serde_json::from_str::<Graph>(&json).unwrap(), graph);
        Ok(())
    })
    .budget_ms(700);
}

#[test]
fn an_editor_without_changes_only_drops_unused_values() {
    arbtest::arbtest(|u| {
        let graph = random_graph(u)?;
        let side: Vec<usize> = (0..graph.nodes.len()).collect();
        let (edited, side_after) = Editor::new(graph.clone(), side.clone()).finish();
        validate(&edited).unwrap();
        assert_eq!(side_after, side);
        let named = |v: &&graph::Value| edited.values.iter().any(|e| e.name == v.name);
        let kept: Vec<_> = graph.values.iter().filter(named).map(|v| (&v.name, v.shape, v.dtype)).collect();
        let found: Vec<_> = edited.values.iter().map(|v| (&v.name, v.shape, v.dtype)).collect();
        assert_eq!(found, kept, "order, shapes and types stay");
        for value in graph.values.iter().filter(|v| !named(v)) {
            assert!(matches!(value.source, Source::Input | Source::Weight), "{} was written", value.name);
        }
        // A second time there is nothing to drop.
        let (again, _) = Editor::new(edited.clone(), side).finish();
        assert_eq!(again, edited);
        Ok(())
    })
    .budget_ms(700);
}

#[test]
fn a_random_edge_to_a_later_value_is_refused() {
    arbtest::arbtest(|u| {
        let mut graph = random_graph(u)?;
        let reader = u.choose_index(graph.nodes.len())?;
        let later: Vec<ValueId> = graph.nodes[reader..].iter().flat_map(|n| n.outputs.clone()).collect();
        let input = u.choose_index(graph.nodes[reader].inputs.len())?;
        graph.nodes[reader].inputs[input] = *u.choose(&later)?;
        assert!(matches!(validate(&graph), Err(GraphError::Order { .. })));
        Ok(())
    })
    .budget_ms(500);
}

fn random_graph(u: &mut Unstructured) -> Result<Graph> {
    let mut b = Builder::new();
    let ids = b.input("ids", Shape::row(Symbol::Outputs), DType::I32);
    let scale = b.weight("scale", Shape::row(N), DType::F32);
    let types = [DType::F32, DType::F16, DType::BF16, DType::Q4_0, DType::Q4_1, DType::Q8_0];
    let square: Vec<_> =
        types.iter().map(|t| b.weight(&format!("square {t}"), Shape::matrix(N, N), *t)).collect();
    let unread = b.input("unread", rows(), DType::F32);
    let mut values = vec![b.input("x", rows(), DType::F32)];
    if u.arbitrary()? {
        values.push(unread);
    }
    for i in 0..u.int_in_range(1..=20)? {
        b.set_layer(u.arbitrary::<bool>()?.then_some(i));
        let [a, c] = [*u.choose(&values)?, *u.choose(&values)?];
        let name = format!("n{i}");
        let to = DType::F32;
        let made = match u.int_in_range(0..=7)? {
            0 => b.node(&name, Add, &[a, c]),
            1 => b.node(&name, RmsNorm { eps: 1e-5, to }, &[a, scale]),
            2 => b.node(&name, MatMul, &[a, *u.choose(&square)?]),
            3 => b.node(&name, MatMul, &[a, *u.choose(&square)?, *u.choose(&square)?]),
            4 => b.node(&name, Glu { activation: graph::op::Activation::Silu, to }, &[a, c]),
            5 => b.node(&name, AddNorm { eps: 1e-5, to }, &[a, c, scale]),
            6 => b.node(&name, View { shape: rows(), offset_bytes: 0 }, &[a]),
            // Ends of the graph: other shapes and types.
            _ if u.arbitrary()? => {
                b.node(&name, Quantize, &[a]).unwrap();
                continue;
            }
            _ => {
                let rows = b.one(&name, GetRows, &[a, ids]).unwrap();
                b.output(rows);
                continue;
            }
        };
        values.extend(made.unwrap());
    }
    Ok(b.finish())
}
