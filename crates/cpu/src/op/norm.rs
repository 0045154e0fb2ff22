//! `rms_norm`, `layer_norm` and `add_norm`: a row at a time, written as f32 or quantized at once.

use graph::DType;
use graph::Shape;
use graph::op::{AddNorm, LayerNorm, RmsNorm};

use super::{Rows, Run, float_scratch};
use crate::{elementwise, norm, quantize};

/// A row of f32 where the result is quantized.
pub(super) fn scratch_bytes(to: DType, inputs: &[(Shape, DType)]) -> usize {
    let columns = inputs[0].0.columns().expect("rows have a fixed length");
    if to == DType::F32 { 0 } else { columns * size_of::<f32>() }
}

pub(super) fn rms_norm(run: &Run, op: &RmsNorm) {
    let (x, weight, out) = (run.input(0), run.input(1).float_row(0), run.output(0));
    run.by_rows(x.count, x.row_bytes, &|first, end, worker| {
        for row in first..end {
            // SAFETY: rows of the input and output, each written by this thread alone.
            unsafe { norm_row(run, x.floats(row), weight, op.eps, &out, row, worker) }
        }
    });
}

pub(super) fn layer_norm(run: &Run, op: &LayerNorm) {
    let (x, out) = (run.input(0), run.output(0));
    let (weight, bias) = (run.input(1).float_row(0), run.input(2).float_row(0));
    run.by_rows(x.count, x.row_bytes, &|first, end, _| {
        for row in first..end {
            // SAFETY: rows of the input and output, each written by this thread alone, over itself at most.
            unsafe {
                norm::layer_norm_row_raw(run.isa, x.floats(row), weight, bias, op.eps, out.floats(row));
            }
        }
    });
}

pub(super) fn add_norm(run: &Run, op: &AddNorm) {
    let (a, b, weight) = (run.input(0), run.input(1), run.input(2).float_row(0));
    let (sum, out) = (run.output(0), run.output(1));
    assert!(!sum.is_nowhere(), "the norm reads the sum");
    run.by_rows(a.count, a.row_bytes, &|first, end, worker| {
        for row in first..end {
            // SAFETY: rows of one length, each written by this thread alone, the sum over an operand at
            // most; the norm reads the finished sum.
            unsafe {
                elementwise::add(run.isa, a.floats(row), b.floats(row), sum.floats(row), a.columns);
                if !out.is_nowhere() {
                    norm_row(run, sum.floats(row), weight, op.eps, &out, row, worker);
                }
            }
        }
    });
}

/// # Safety
/// `x` is as long as the weight, and no other thread writes it or the output's row.
unsafe fn norm_row(run: &Run, x: *mut f32, weight: &[f32], eps: f32, out: &Rows, row: usize, worker: usize) {
    // SAFETY: the caller's promise; the scratch is the worker's own.
    unsafe {
        if out.dtype == DType::F32 {
            norm::rms_norm_row_raw(run.isa, x, weight, eps, out.floats(row));
        } else {
            let normed = float_scratch(run.scratch(worker), weight.len());
            norm::rms_norm_row_raw(run.isa, x, weight, eps, normed.as_mut_ptr());
            quantize::quantize_blocks(run.isa, normed, out.row(row), out.columns, 0);
        }
    }
}
