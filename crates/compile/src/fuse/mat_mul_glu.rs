//! `gate, up -> swiglu` or `geglu`: the two wide products are never stored.

use graph::{NodeId, Op, ValueId, op::MatMulGlu};

use super::Pass;

pub(super) fn apply(pass: &mut Pass) {
    for id in pass.nodes() {
        let node = pass.editor.graph().node(id);
        let (Op::Glu(glu), [gate, up]) = (&node.op, &node.inputs[..]) else { continue };
        let (op, outputs) = (MatMulGlu { activation: glu.activation, to: glu.to }, node.outputs.clone());
        let (Some(gate), Some(up)) = (product(pass, *gate, id), product(pass, *up, id)) else { continue };
        if gate.x != up.x {
            continue;
        }
        pass.editor.replace(id, op, vec![gate.x, gate.weight, up.weight], outputs);
        pass.editor.remove(gate.node);
        pass.editor.remove(up.node);
    }
}

struct Product {
    node: NodeId,
    x: ValueId,
    weight: ValueId,
}

/// The product behind a value that `reader` alone reads.
fn product(pass: &Pass, value: ValueId, reader: NodeId) -> Option<Product> {
    let node = pass.sole_source(value, reader)?;
    match (&pass.editor.graph().node(node).op, &pass.editor.graph().node(node).inputs[..]) {
        (Op::MatMul(_), [x, weight]) => Some(Product { node, x: *x, weight: *weight }),
        _ => None,
    }
}
