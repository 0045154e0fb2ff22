//! `add -> norm`: the residual addition and the norm of the sum. The sum lives on.

use graph::{Op, Source, op::AddNorm};

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
        // A sum that nobody else needs would get no memory, and a weight that is computed may not be there
        // yet where the sum is made.
        let computed = matches!(pass.editor.graph().value(weight).source, Source::Node { .. });
        if computed || !pass.lives_on(sum, id) {
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
