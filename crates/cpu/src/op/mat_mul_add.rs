//! `mat_mul_add`: a product of some rows of the weight at a time, added to the residual stream where it is.

use graph::{DType, Extents, Shape};

use super::mat_mul::{activations, rows_a_chunk, weights};
use super::{Run, float_scratch};
use crate::matmul::{self, Output, ROW_STEP};
use crate::{Isa, elementwise};

/// Room for the products of a chunk when there are few tokens: then a chunk has many rows.
const PRODUCTS_BYTES_MIN: usize = 16 * 1024;

/// The products of a chunk for every token, then what they need.
pub(super) fn scratch_bytes(isa: Isa, inputs: &[(Shape, DType)], capacity: &Extents) -> usize {
    let tokens = inputs[0].0.rows(capacity);
    let products = (tokens * ROW_STEP * size_of::<f32>()).max(PRODUCTS_BYTES_MIN);
    products + super::mat_mul::scratch_bytes(isa, &inputs[..2], capacity)
}

pub(super) fn run(run: &Run) {
    let (x, weight, residual, out) = (run.input(0), run.input(1), run.input(2), run.output(0));
    if x.count == 0 {
        return;
    }
    // With few tokens more rows fit in the scratch that is planned for many.
    let scratch_bytes = run.call.scratch.expect("planned").bytes / run.pool.threads();
    let kernel_bytes = matmul::scratch_bytes(run.isa, weight.dtype, weight.columns, x.count);
    let rows_that_fit = (scratch_bytes - kernel_bytes) / (x.count * size_of::<f32>());
    let rows_a_chunk =
        rows_a_chunk(run, weight.row_bytes, weight.count, x.count).min(rows_that_fit / ROW_STEP * ROW_STEP);
    let (weight, x) = (weights(&weight), activations(&x));
    run.pool.run(weight.rows.div_ceil(rows_a_chunk), &|chunk, worker| {
        let rows = chunk * rows_a_chunk..weight.rows.min((chunk + 1) * rows_a_chunk);
        let width = rows.len();
        // SAFETY: the scratch is the worker's own, and the chunk's columns of the output are this thread's, over those
        // of the residual at most.
        unsafe {
            let bytes = x.tokens * width * size_of::<f32>();
            let (products, scratch) = run.scratch(worker).split_at_mut(bytes.next_multiple_of(64));
            let products = float_scratch(products, x.tokens * width);
            let y = Output { ptr: products.as_mut_ptr(), stride: width };
            matmul::matmul(run.isa, &weight, rows.clone(), &x, &y, scratch);
            for (token, product) in products.chunks(width).enumerate() {
                let at = |row: *mut f32| row.add(rows.start);
                let (from, to) = (at(residual.floats(token)), at(out.floats(token)));
                elementwise::add(run.isa, from, product.as_ptr(), to, width);
            }
        }
    });
}
