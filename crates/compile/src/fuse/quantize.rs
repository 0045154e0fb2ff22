//! `norm -> quantize`, `swiglu -> quantize` and `gelu -> quantize`: the rows are written as A32 at once.

use graph::{
    DType, Op,
    op::{AddNorm, Gelu, Glu, RmsNorm},
};

use super::Pass;

pub(super) fn apply(pass: &mut Pass) {
    for id in pass.nodes() {
        let node = pass.editor.graph().node(id);
        let (Op::Quantize(_), [x], [quantized]) = (&node.op, &node.inputs[..], &node.outputs[..]) else {
            continue;
        };
        let (x, quantized) = (*x, *quantized);
        let Some(source) = pass.sole_source(x, id) else { continue };
        let writer = pass.editor.graph().node(source);
        let to = DType::A32;
        let op: Op = match &writer.op {
            Op::RmsNorm(norm) => RmsNorm { to, ..norm.clone() }.into(),
            Op::Gelu(_) => Gelu { to }.into(),
            Op::Glu(glu) => Glu { to, ..glu.clone() }.into(),
            Op::AddNorm(norm) if writer.outputs[1] == x => AddNorm { to, ..norm.clone() }.into(),
            _ => continue,
        };
        let inputs = writer.inputs.clone();
        let outputs = writer.outputs.iter().map(|v| if *v == x { quantized } else { *v }).collect();
        pass.editor.replace(source, op, inputs, outputs);
        pass.editor.remove(id);
    }
}
