//! `mat_mul_id`: each token's row times the matrices of the experts that it goes through.

use backend::BackendError;
use graph::{DType, Extents, Shape};

use super::mat_mul::weights;
use super::{Rows, Run, float_scratch};
use crate::Isa;
use crate::matmul::{self, Activations, Output, ROW_STEP};

/// Rows of activations that are brought together for one product.
const ROWS_TOGETHER: usize = 32;
/// Rows of an expert's matrix in a chunk.
const WEIGHT_ROWS: usize = 2 * ROW_STEP;

/// The rows of some tokens, their products, and what the products need.
pub(super) fn scratch_bytes(isa: Isa, inputs: &[(Shape, DType)], capacity: &Extents) -> usize {
    let (x, x_type) = inputs[0];
    let columns = x.columns().expect("rows have a fixed length");
    let rows = inputs[2].0.evaluate(capacity)[..2].iter().product::<usize>().min(ROWS_TOGETHER);
    let kernel = matmul::scratch_bytes(isa, inputs[1].1, columns, rows);
    kernel + rows * (x_type.row_bytes(columns).next_multiple_of(64) + WEIGHT_ROWS * size_of::<f32>())
}

/// A choice of a token: the row of activations that it reads and the row of the output that it makes.
struct Work {
    from: usize,
    to: usize,
}

pub(super) fn run(run: &Run) -> Result<(), BackendError> {
    let (x, weight, ids, out) = (run.input(0), run.input(1), run.input(2), run.output(0));
    let experts = run.call.inputs[1].shape.evaluate(run.extents)[2];
    let used = ids.columns;
    let choices = ids.integers();
    if let Some(id) = choices.iter().find(|id| usize::try_from(**id).map_or(true, |id| id >= experts)) {
        return Err(run.index_error("expert", *id, experts));
    }
    // A row for each choice, or one a token that all its choices share.
    let own_rows = run.call.inputs[0].shape.0[1..3] == run.call.inputs[2].shape.0[0..2];
    let of_expert = |expert: usize| {
        let chosen = choices.iter().enumerate().filter(move |(_, id)| **id as usize == expert);
        chosen
            .map(move |(choice, _)| Work { from: if own_rows { choice } else { choice / used }, to: choice })
    };
    let rows_an_expert = weight.count / experts;
    let chunks_an_expert = rows_an_expert.div_ceil(WEIGHT_ROWS);
    let matrix = weights(&weight);
    run.pool.run_in_ranges(experts * chunks_an_expert, &|chunk, worker| {
        let expert = chunk / chunks_an_expert;
        let first = chunk % chunks_an_expert * WEIGHT_ROWS;
        let start = expert * rows_an_expert + first;
        let end = start + WEIGHT_ROWS.min(rows_an_expert - first);
        let mut work = of_expert(expert).peekable();
        // SAFETY: the scratch is the worker's own.
        let scratch = unsafe { run.scratch(worker) };
        while work.peek().is_some() {
            let batch = Batch::gather(&x, work.by_ref().take(ROWS_TOGETHER), scratch);
            // SAFETY: these columns of these rows of the output are written by this chunk alone.
            unsafe { batch.multiply(run.isa, &matrix, start..end, &out, first) };
        }
    });
    Ok(())
}

/// Rows of activations side by side, and where their products go.
struct Batch<'a> {
    rows: &'a [u8],
    stride: usize,
    to: [usize; ROWS_TOGETHER],
    count: usize,
    rest: &'a mut [u8],
}

impl<'a> Batch<'a> {
    fn gather(x: &Rows, work: impl Iterator<Item = Work>, scratch: &'a mut [u8]) -> Batch<'a> {
        let stride = x.row_bytes.next_multiple_of(64);
        let mut to = [0; ROWS_TOGETHER];
        let mut count = 0;
        for (i, Work { from, to: choice }) in work.enumerate() {
            // SAFETY: a row of the input, which nothing writes in this call.
            let row = unsafe { std::slice::from_raw_parts(x.row(from), x.row_bytes) };
            scratch[i * stride..][..x.row_bytes].copy_from_slice(row);
            to[i] = choice;
            count = i + 1;
        }
        let (rows, rest) = scratch.split_at_mut(count * stride);
        Batch { rows, stride, to, count, rest }
    }

    /// # Safety
    /// No other thread writes these columns of the batch's rows of the output.
    unsafe fn multiply(
        self,
        isa: Isa,
        weights: &matmul::Weights,
        rows: std::ops::Range<usize>,
        out: &Rows,
        column: usize,
    ) {
        let width = rows.len();
        let (products, kernel) = self.rest.split_at_mut(self.count * WEIGHT_ROWS * size_of::<f32>());
        let products = float_scratch(products, self.count * width);
        let x = Activations { data: self.rows, stride: self.stride, tokens: self.count };
        let y = Output { ptr: products.as_mut_ptr(), stride: width };
        // SAFETY: the products have a row for each of the batch; the caller keeps threads apart.
        unsafe {
            matmul::matmul(isa, weights, rows, &x, &y, kernel);
            for (product, to) in products.chunks_exact(width).zip(&self.to[..self.count]) {
                let row = out.floats(*to).add(column);
                row.copy_from_nonoverlapping(product.as_ptr(), width);
            }
        }
    }
}
