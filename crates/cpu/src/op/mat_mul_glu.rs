//! `mat_mul_swiglu` and `mat_mul_geglu`: gate and up products of some columns, multiplied and written at once.

use graph::op::MatMulGlu;
use graph::{DType, Extents, Shape};

use super::glu::gated;
use super::mat_mul::{TOKENS_A_PART, activations, kernel_bytes, part, rows_a_chunk, weights};
use super::{Rows, Run, float_scratch};
use crate::Isa;
use crate::matmul::{self, Output};
use crate::quantize;

/// Columns of the result that are made together: whole blocks of A32.
const STEP: usize = DType::A32.block_elements();
/// Room for gate and up: one step with all tokens of a part, several with few tokens.
const PRODUCTS_BYTES: usize = products_bytes(TOKENS_A_PART);

/// Gate and up of some steps for the tokens of a part, then what the products need.
pub(super) fn scratch_bytes(isa: Isa, inputs: &[(Shape, DType)], capacity: &Extents) -> usize {
    PRODUCTS_BYTES + kernel_bytes(isa, inputs, inputs[0].0.rows(capacity).min(TOKENS_A_PART))
}

const fn products_bytes(tokens: usize) -> usize {
    2 * tokens * STEP * size_of::<f32>()
}

pub(super) fn run(run: &Run, op: &MatMulGlu) {
    let (x, gate, up, out) = (run.input(0), run.input(1), run.input(2), run.output(0));
    if x.count == 0 {
        return;
    }
    let tokens_a_part = x.count.min(TOKENS_A_PART);
    let rows_a_chunk = rows_of_chunk(run, &gate, x.count);
    let (gate, up, x) = (weights(&gate), weights(&up), activations(&x));
    run.pool.run_in_ranges(gate.rows.div_ceil(rows_a_chunk), &|chunk, worker| {
        let first = chunk * rows_a_chunk;
        let end = gate.rows.min(first + rows_a_chunk);
        let width = end - first;
        for begin in (0..x.tokens).step_by(tokens_a_part) {
            let tokens = begin..x.tokens.min(begin + tokens_a_part);
            // SAFETY: the scratch is the worker's own, and the chunk's columns of the output are this thread's.
            unsafe {
                let (products, scratch) = run.scratch(worker).split_at_mut(PRODUCTS_BYTES);
                let products = float_scratch(products, 2 * tokens.len() * width);
                let (gates, ups) = products.split_at_mut(tokens.len() * width);
                for (weights, to) in [(&gate, &mut *gates), (&up, &mut *ups)] {
                    let y = Output { ptr: to.as_mut_ptr(), stride: width };
                    matmul::matmul(run.isa, weights, first..end, &part(&x, &tokens), &y, scratch);
                }
                for (token, (gate, up)) in tokens.zip(gates.chunks_mut(width).zip(ups.chunks(width))) {
                    let product = gate.as_mut_ptr();
                    if op.to == DType::F32 {
                        let out = out.floats(token).add(first);
                        gated(run.isa, op.activation, product, up.as_ptr(), out, width);
                    } else {
                        gated(run.isa, op.activation, product, up.as_ptr(), product, width);
                        quantize::quantize_blocks(run.isa, gate, out.row(token), out.columns, first / STEP);
                    }
                }
            }
        }
    });
}

/// [`Team::announce`](crate::pool::Team::announce) for a run to come.
pub(super) fn announce(run: &Run) {
    let (gate, up) = (run.input(1), run.input(2));
    let rows_a_chunk = rows_of_chunk(run, &gate, run.input(0).count);
    let (gate, up) = (weights(&gate), weights(&up));
    run.pool.announce(gate.rows.div_ceil(rows_a_chunk), |chunk| {
        let rows = chunk * rows_a_chunk..gate.rows.min((chunk + 1) * rows_a_chunk);
        [gate.bytes(&rows), up.bytes(&rows)]
    });
}

fn rows_of_chunk(run: &Run, gate: &Rows, tokens: usize) -> usize {
    let steps_that_fit = PRODUCTS_BYTES / products_bytes(tokens.min(TOKENS_A_PART));
    let rows = rows_a_chunk(run, 2 * gate.row_bytes, gate.count, tokens);
    steps_that_fit.min(rows.div_ceil(STEP)) * STEP
}
