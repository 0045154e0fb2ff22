//! `product, residual -> add`: the product goes where the residual stream is and is never stored.

use graph::{Op, op::MatMulAdd};

use super::Pass;

pub(super) fn apply(pass: &mut Pass) {
    for id in pass.nodes() {
        let node = pass.editor.graph().node(id);
        let (Op::Add(_), [a, b]) = (&node.op, &node.inputs[..]) else { continue };
        let (a, b, outputs) = (*a, *b, node.outputs.clone());
        // A bias is one row for all.
        let shape = |v| pass.editor.graph().value(v).shape;
        if shape(a) != shape(b) {
            continue;
        }
        let found = pass.product(b, id).map(|p| (p, a)).or_else(|| pass.product(a, id).map(|p| (p, b)));
        let Some((product, residual)) = found else { continue };
        pass.editor.replace(id, MatMulAdd, vec![product.x, product.weight, residual], outputs);
        pass.editor.remove(product.node);
    }
}
