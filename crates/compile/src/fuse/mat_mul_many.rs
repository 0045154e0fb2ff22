//! Products of one input in one call, as Q, K and V are: one parallel region, nothing concatenated.

use std::collections::HashMap;

use graph::{NodeId, Op, Source, op::MatMul};

use super::Pass;

pub(super) fn apply(pass: &mut Pass) {
    let mut groups: HashMap<_, Vec<NodeId>> = HashMap::new();
    let mut order = Vec::new();
    for id in pass.nodes() {
        let graph = pass.editor.graph();
        let node = graph.node(id);
        // A weight that is computed may not be there yet where the first product of the group stands.
        let plain = matches!(&node.op, Op::MatMul(_))
            && node.inputs[1..].iter().all(|w| graph.value(*w).source == Source::Weight);
        if plain && pass.together(id, id) {
            let key = (node.inputs[0], *pass.editor.side(id), node.layer);
            let group = groups.entry(key).or_default();
            if group.is_empty() {
                order.push(key);
            }
            group.push(id);
        }
    }
    for key in order {
        let group = &groups[&key];
        let [first, rest @ ..] = &group[..] else { continue };
        if rest.is_empty() {
            continue;
        }
        let mut inputs = vec![key.0];
        let mut outputs = Vec::new();
        for id in group {
            let node = pass.editor.graph().node(*id);
            inputs.extend(&node.inputs[1..]);
            outputs.extend(&node.outputs);
        }
        pass.editor.replace(*first, MatMul, inputs, outputs);
        rest.iter().for_each(|id| pass.editor.remove(*id));
    }
}
