//! `swiglu`, `geglu` and `gelu`.

use graph::DType;
use graph::op::{Activation, Gelu, Glu};

use super::{Run, float_scratch};
use crate::{Isa, elementwise, quantize};

pub(super) fn run(run: &Run, op: &Glu) {
    let (gate, up, out) = (run.input(0), run.input(1), run.output(0));
    run.by_rows(out.count, gate.row_bytes, &|first, end, worker| {
        for row in first..end {
            let (gate, up, n) = (gate.floats(row), up.floats(row), out.columns);
            // SAFETY: rows of one length, each written by one thread, over itself at most; the scratch is
            // the worker's own.
            unsafe {
                if op.to == DType::F32 {
                    gated(run.isa, op.activation, gate, up, out.floats(row), n);
                } else {
                    let product = float_scratch(run.scratch(worker), n);
                    gated(run.isa, op.activation, gate, up, product.as_mut_ptr(), n);
                    quantize::quantize_blocks(run.isa, product, out.row(row), n, 0);
                }
            }
        }
    });
}

pub(super) fn gelu(run: &Run, op: &Gelu) {
    let (x, out) = (run.input(0), run.output(0));
    run.by_rows(out.count, x.row_bytes, &|first, end, worker| {
        for row in first..end {
            // SAFETY: rows of one length, each written by one thread, over itself at most; the scratch is
            // the worker's own.
            unsafe {
                if op.to == DType::F32 {
                    elementwise::gelu_row(run.isa, x.floats(row), out.floats(row), out.columns);
                } else {
                    let wide = float_scratch(run.scratch(worker), out.columns);
                    elementwise::gelu_row(run.isa, x.floats(row), wide.as_mut_ptr(), out.columns);
                    quantize::quantize_blocks(run.isa, wide, out.row(row), out.columns, 0);
                }
            }
        }
    });
}

/// `out = activation(gate) * up`.
///
/// # Safety
/// As [`elementwise::swiglu`].
pub(super) unsafe fn gated(
    isa: Isa,
    activation: Activation,
    gate: *const f32,
    up: *const f32,
    out: *mut f32,
    n: usize,
) {
    // SAFETY: the caller's promise.
    unsafe {
        match activation {
            Activation::Silu => elementwise::swiglu(isa, gate, up, out, n),
            Activation::Gelu => elementwise::geglu(isa, gate, up, out, n),
        }
    }
}
