//! `swiglu`.

use graph::DType;
use graph::op::SwiGlu;

use super::{Run, float_scratch};
use crate::{elementwise, quantize};

pub(super) fn run(run: &Run, op: &SwiGlu) {
    let (gate, up, out) = (run.input(0), run.input(1), run.output(0));
    run.by_rows(out.count, gate.row_bytes, &|first, end, worker| {
        for row in first..end {
            let (gate, up, n) = (gate.floats(row), up.floats(row), out.columns);
            // SAFETY: rows of one length, each written by one thread, over itself at most; the scratch is
            // the worker's own.
            unsafe {
                if op.to == DType::F32 {
                    elementwise::swiglu(run.isa, gate, up, out.floats(row), n);
                } else {
                    let product = float_scratch(run.scratch(worker), n);
                    elementwise::swiglu(run.isa, gate, up, product.as_mut_ptr(), n);
                    quantize::quantize_blocks(run.isa, product, out.row(row), n, 0);
                }
            }
        }
    });
}
