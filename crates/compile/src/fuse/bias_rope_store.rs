//! `bias -> rope -> store`: what happens to Q, K and V after their products, in one call each.

use graph::{NodeId, Op, Shape, ValueId, op::Rope};

use super::Pass;

pub(super) fn apply(pass: &mut Pass) {
    for id in pass.nodes() {
        if let Op::Rope(_) = pass.editor.graph().node(id).op {
            bias_into_rope(pass, id);
        }
    }
    for id in pass.nodes() {
        if let Op::KvStore(_) = pass.editor.graph().node(id).op {
            rope_into_store(pass, id);
            bias_into_store(pass, id);
        }
    }
}

fn bias_into_rope(pass: &mut Pass, id: NodeId) {
    let node = pass.editor.graph().node(id);
    let Op::Rope(rope) = node.op.clone() else { return };
    let (mut inputs, outputs) = (node.inputs.clone(), node.outputs.clone());
    let Some((add, x, bias)) = bias_before(pass, inputs[0], id) else { return };
    inputs[0] = x;
    inputs.push(bias);
    pass.editor.replace(id, Rope { bias: true, ..rope }, inputs, outputs);
    pass.editor.remove(add);
}

fn rope_into_store(pass: &mut Pass, id: NodeId) {
    let node = pass.editor.graph().node(id);
    let Op::KvStore(mut store) = node.op.clone() else { return };
    let mut inputs = node.inputs.clone();
    let Some(source) = pass.sole_source(inputs[0], id) else { return };
    let rope_node = pass.editor.graph().node(source);
    let Op::Rope(rope) = rope_node.op.clone() else { return };
    inputs[0] = rope_node.inputs[0];
    inputs.extend(&rope_node.inputs[1..]);
    store.bias = rope.bias;
    store.rope = Some(Rope { bias: false, ..rope });
    pass.editor.replace(id, store, inputs, vec![]);
    pass.editor.remove(source);
}

fn bias_into_store(pass: &mut Pass, id: NodeId) {
    let node = pass.editor.graph().node(id);
    let Op::KvStore(mut store) = node.op.clone() else { return };
    let mut inputs = node.inputs.clone();
    if store.bias || store.rope.is_some() {
        return;
    }
    let Some((add, x, bias)) = bias_before(pass, inputs[0], id) else { return };
    inputs[0] = x;
    inputs.push(bias);
    store.bias = true;
    pass.editor.replace(id, store, inputs, vec![]);
    pass.editor.remove(add);
}

/// The addition of one row behind a value that `reader` alone reads: its node, its input, the row.
fn bias_before(pass: &Pass, value: ValueId, reader: NodeId) -> Option<(NodeId, ValueId, ValueId)> {
    let source = pass.sole_source(value, reader)?;
    let graph = pass.editor.graph();
    match (&graph.node(source).op, &graph.node(source).inputs[..]) {
        (Op::Add(_), [x, bias]) => {
            let x_shape = graph.value(*x).shape;
            let is_row =
                graph.value(*bias).shape == Shape::row(x_shape.0[0]) && x_shape != graph.value(*bias).shape;
            is_row.then_some((source, *x, *bias))
        }
        _ => None,
    }
}
