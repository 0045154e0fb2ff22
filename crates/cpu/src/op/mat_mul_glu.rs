//! `mat_mul_swiglu` and `mat_mul_geglu`: gate and up products of some columns, multiplied and written at once.

use graph::op::MatMulGlu;
use graph::{DType, Extents, Shape};

use super::glu::gated;
use super::mat_mul::{activations, rows_a_chunk, weights};
use super::{Run, float_scratch};
use crate::Isa;
use crate::matmul::{self, Output};
use crate::quantize;

/// Columns of the result that are made together: whole blocks of A32.
const STEP: usize = DType::A32.block_elements();

/// Gate and up of one step for every token, then what the products need.
pub(super) fn scratch_bytes(isa: Isa, inputs: &[(Shape, DType)], capacity: &Extents) -> usize {
    products_bytes(inputs[0].0.rows(capacity)) + super::mat_mul::scratch_bytes(isa, inputs, capacity)
}

fn products_bytes(tokens: usize) -> usize {
    2 * tokens * STEP * size_of::<f32>()
}

pub(super) fn run(run: &Run, op: &MatMulGlu) {
    let (x, gate, up, out) = (run.input(0), run.input(1), run.input(2), run.output(0));
    if x.count == 0 {
        return;
    }
    // With few tokens several steps fit in the scratch that is planned for many.
    let scratch_bytes = run.call.scratch.expect("planned").bytes / run.pool.threads();
    let products = [&gate, &up].map(|w| matmul::scratch_bytes(run.isa, w.dtype, w.columns, x.count));
    let steps_that_fit = (scratch_bytes - products[0].max(products[1])) / products_bytes(x.count);
    let steps = steps_that_fit.min(rows_a_chunk(run, 2 * gate.row_bytes, gate.count, x.count).div_ceil(STEP));
    let rows_a_chunk = steps * STEP;
    let (gate, up, x) = (weights(&gate), weights(&up), activations(&x));
    run.pool.run_in_ranges(gate.rows.div_ceil(rows_a_chunk), &|chunk, worker| {
        let first = chunk * rows_a_chunk;
        let end = gate.rows.min(first + rows_a_chunk);
        let width = end - first;
        // SAFETY: the scratch is the worker's own, and the chunk's columns of the output are this thread's.
        unsafe {
            let (products, scratch) = run.scratch(worker).split_at_mut(steps * products_bytes(x.tokens));
            let products = float_scratch(products, 2 * x.tokens * width);
            let (gates, ups) = products.split_at_mut(x.tokens * width);
            for (weights, to) in [(&gate, &mut *gates), (&up, &mut *ups)] {
                let y = Output { ptr: to.as_mut_ptr(), stride: width };
                matmul::matmul(run.isa, weights, first..end, &x, &y, scratch);
            }
            for token in 0..x.tokens {
                let gate = gates[token * width..].as_mut_ptr();
                let up = ups[token * width..].as_ptr();
                if op.to == DType::F32 {
                    gated(run.isa, op.activation, gate, up, out.floats(token).add(first), width);
                } else {
                    gated(run.isa, op.activation, gate, up, gate, width);
                    let product = std::slice::from_raw_parts(gate, width);
                    quantize::quantize_blocks(run.isa, product, out.row(token), out.columns, first / STEP);
                }
            }
        }
    });
}
