//! `mat_mul_add`: a product of some rows and tokens at a time, added to the residual stream where it is.

use graph::{DType, Extents, Shape};

use super::mat_mul::{TOKENS_A_PART, activations, kernel_bytes, part, rows_a_chunk, weights};
use super::{Rows, Run, float_scratch};
use crate::Isa;
use crate::elementwise::{self, Strided};
use crate::matmul::{self, Output, ROW_STEP};

/// Room for products: two steps of rows with all tokens of a part, many rows with few tokens.
const PRODUCTS_BYTES: usize = 2 * ROW_STEP * TOKENS_A_PART * size_of::<f32>();

/// The products of a chunk for the tokens of a part, then what they need.
pub(super) fn scratch_bytes(isa: Isa, inputs: &[(Shape, DType)], capacity: &Extents) -> usize {
    PRODUCTS_BYTES + kernel_bytes(isa, &inputs[..2], inputs[0].0.rows(capacity).min(TOKENS_A_PART))
}

pub(super) fn run(run: &Run) {
    let (x, weight, residual, out) = (run.input(0), run.input(1), run.input(2), run.output(0));
    if x.count == 0 {
        return;
    }
    let tokens_a_part = x.count.min(TOKENS_A_PART);
    let rows_a_chunk = rows_of_chunk(run, &weight, x.count);
    let (weight, x) = (weights(&weight), activations(&x));
    run.pool.run_in_ranges(weight.rows.div_ceil(rows_a_chunk), &|chunk, worker| {
        let rows = chunk * rows_a_chunk..weight.rows.min((chunk + 1) * rows_a_chunk);
        let width = rows.len();
        for first in (0..x.tokens).step_by(tokens_a_part) {
            let tokens = first..x.tokens.min(first + tokens_a_part);
            // SAFETY: the scratch is the worker's own, and the chunk's columns of the output are this thread's, over
            // those of the residual at most.
            unsafe {
                let (products, scratch) = run.scratch(worker).split_at_mut(PRODUCTS_BYTES);
                let products = float_scratch(products, tokens.len() * width);
                let y = Output { ptr: products.as_mut_ptr(), stride: width };
                matmul::matmul(run.isa, &weight, rows.clone(), &part(&x, &tokens), &y, scratch);
                let at = |sums: &Rows| sums.floats(first).add(rows.start);
                let from = Strided { ptr: at(&residual).cast_const(), stride: residual.columns };
                let product = Strided { ptr: products.as_ptr(), stride: width };
                let to = Strided { ptr: at(&out), stride: out.columns };
                elementwise::add_rows(run.isa, from, product, to, tokens.len(), width);
            }
        }
    });
}

/// [`Team::announce`](crate::pool::Team::announce) for a run to come.
pub(super) fn announce(run: &Run) {
    let weight = run.input(1);
    let rows_a_chunk = rows_of_chunk(run, &weight, run.input(0).count);
    let weight = weights(&weight);
    run.pool.announce(weight.rows.div_ceil(rows_a_chunk), |chunk| {
        [weight.bytes(&(chunk * rows_a_chunk..weight.rows.min((chunk + 1) * rows_a_chunk)))]
    });
}

fn rows_of_chunk(run: &Run, weight: &Rows, tokens: usize) -> usize {
    let rows_that_fit = PRODUCTS_BYTES / (tokens.min(TOKENS_A_PART) * size_of::<f32>());
    rows_a_chunk(run, weight.row_bytes, weight.count, tokens).min(rows_that_fit / ROW_STEP * ROW_STEP)
}
