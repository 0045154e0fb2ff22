//! `add -> norm`: the residual addition and the norm of the sum. The sum lives on.

use graph::{Op, op::AddNorm};

use super::Pass;

pub(super) fn apply(pass: &mut Pass) {
    for id in pass.nodes() {
        let node = pass.editor.graph().node(id);
        let (Op::RmsNorm(norm), [sum, weight], [normed]) = (&node.op, &node.inputs[..], &node.outputs[..])
        else {
            continue;
        };
        let (norm, sum, weight, normed) = (norm.clone(), *sum, *weight, *normed);
        let Some(source) = pass.source(sum) else { continue };
        let add = pass.editor.graph().node(source);
        let (Op::Add(_), [a, b]) = (&add.op, &add.inputs[..]) else { continue };
        let (a, b) = (*a, *b);
        let shape = |v| pass.editor.graph().value(v).shape;
        if shape(a) != shape(b) || !pass.together(source, id) {
            continue;
        }
        pass.editor.replace(
            source,
            AddNorm { eps: norm.eps, to: norm.to },
            vec![a, b, weight],
            vec![sum, normed],
        );
        pass.editor.remove(id);
    }
}
