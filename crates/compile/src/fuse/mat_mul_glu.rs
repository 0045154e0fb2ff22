//! `gate, up -> swiglu` or `geglu`: the two wide products are never stored.

use graph::{Op, op::MatMulGlu};

use super::Pass;

pub(super) fn apply(pass: &mut Pass) {
    for id in pass.nodes() {
        let node = pass.editor.graph().node(id);
        let (Op::Glu(glu), [gate, up]) = (&node.op, &node.inputs[..]) else { continue };
        let (op, outputs) = (MatMulGlu { activation: glu.activation, to: glu.to }, node.outputs.clone());
        let (Some(gate), Some(up)) = (pass.product(*gate, id), pass.product(*up, id)) else { continue };
        if gate.x != up.x {
            continue;
        }
        pass.editor.replace(id, op, vec![gate.x, gate.weight, up.weight], outputs);
        pass.editor.remove(gate.node);
        pass.editor.remove(up.node);
    }
}
