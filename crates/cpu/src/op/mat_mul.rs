//! `mat_mul`: the products of one input with one or several weights, in one parallel region.

use std::ops::Range;

use graph::{DType, Extents, Shape};
use smallvec::SmallVec;

use super::{Rows, Run};
use crate::Isa;
use crate::matmul::{self, Activations, Output, ROW_STEP, Weights};

/// The least and the most bytes of weights that a chunk reads when there is one token. Taking a chunk must cost
/// nothing beside it; the smaller, the less a slow core holds the others.
const WEIGHT_BYTES_A_CHUNK: (usize, usize) = (32 * 1024, 256 * 1024);
/// More products than these in one call are kept on the heap: those of queries, keys and values are three.
const MOST_USUAL: usize = 4;
/// Chunks of a matrix of middle size for each thread.
const CHUNKS_A_THREAD: usize = 8;

/// Tokens whose products are in working memory at once, in operations that go on with products: a long batch needs no
/// more of it than this. The kernels are as quick with so many as with more, and slower with half of it.
pub(super) const TOKENS_A_PART: usize = 128;

pub(super) fn scratch_bytes(isa: Isa, inputs: &[(Shape, DType)], capacity: &Extents) -> usize {
    kernel_bytes(isa, inputs, inputs[0].0.rows(capacity))
}

/// What the products of so many tokens need.
pub(super) fn kernel_bytes(isa: Isa, inputs: &[(Shape, DType)], tokens: usize) -> usize {
    let columns = inputs[0].0.columns().expect("rows have a fixed length");
    inputs[1..].iter().map(|w| matmul::scratch_bytes(isa, w.1, columns, tokens)).max().unwrap_or(0)
}

pub(super) fn run(run: &Run) {
    let x = run.input(0);
    if x.count == 0 {
        return;
    }
    let products = Products::new(run, x.count);
    let x = activations(&x);
    run.pool.run_in_ranges(products.chunks(), &|chunk, worker| {
        let (product, rows) = products.chunk(chunk);
        // SAFETY: the chunk's rows of the output belong to this thread; its scratch is its own.
        unsafe {
            let y = Output { ptr: product.out.floats(0).add(rows.start), stride: product.out.columns };
            matmul::matmul(run.isa, &product.weights, rows, &x, &y, run.scratch(worker));
        }
    });
}

/// [`Team::announce`](crate::pool::Team::announce) for a run to come.
pub(super) fn announce(run: &Run) {
    let products = Products::new(run, run.input(0).count);
    run.pool.announce(products.chunks(), |chunk| {
        let (product, rows) = products.chunk(chunk);
        [product.weights.bytes(&rows)]
    });
}

/// The weights of a call whose products somebody reads, one after the other.
struct Products<'a>(SmallVec<[Product<'a>; MOST_USUAL]>);

impl<'a> Products<'a> {
    fn new(run: &Run<'a>, tokens: usize) -> Products<'a> {
        let products = (0..run.call.outputs.len()).map(|i| Product::new(run, i, tokens));
        Products(products.filter(|p| !p.out.is_nowhere()).collect())
    }

    fn chunks(&self) -> usize {
        self.0.iter().map(|p| p.chunks()).sum()
    }

    /// The weight and its rows that a chunk is about.
    fn chunk(&self, mut chunk: usize) -> (&Product<'a>, Range<usize>) {
        for product in &self.0 {
            if chunk < product.chunks() {
                let first = chunk * product.rows_a_chunk;
                return (product, first..product.weights.rows.min(first + product.rows_a_chunk));
            }
            chunk -= product.chunks();
        }
        unreachable!("a chunk behind the last")
    }
}

/// One weight and where its product goes.
struct Product<'a> {
    weights: Weights<'a>,
    out: Rows<'a>,
    rows_a_chunk: usize,
}

impl<'a> Product<'a> {
    fn new(run: &Run<'a>, index: usize, tokens: usize) -> Product<'a> {
        let weight = run.input(index + 1);
        let rows_a_chunk = rows_a_chunk(run, weight.row_bytes, weight.count, tokens);
        Product { weights: weights(&weight), out: run.output(index), rows_a_chunk }
    }

    fn chunks(&self) -> usize {
        self.weights.rows.div_ceil(self.rows_a_chunk)
    }
}

/// Fewer rows the more tokens share them, in steps that kernels like. How rows are cut changes no result.
pub(super) fn rows_a_chunk(run: &Run, row_bytes: usize, rows: usize, tokens: usize) -> usize {
    let (least, most) = WEIGHT_BYTES_A_CHUNK;
    let bytes = (row_bytes * rows / (CHUNKS_A_THREAD * run.pool.threads())).clamp(least, most);
    let rows = bytes / (row_bytes * tokens.min(64)).max(1);
    rows.next_multiple_of(ROW_STEP).max(ROW_STEP)
}

pub(super) fn weights<'a>(weight: &Rows<'a>) -> Weights<'a> {
    Weights { dtype: weight.dtype, cols: weight.columns, rows: weight.count, data: weight.bytes() }
}

/// Some of the tokens.
pub(super) fn part<'a>(x: &Activations<'a>, tokens: &Range<usize>) -> Activations<'a> {
    Activations { data: &x.data[tokens.start * x.stride..], stride: x.stride, tokens: tokens.len() }
}

pub(super) fn activations<'a>(x: &Rows<'a>) -> Activations<'a> {
    Activations { data: x.bytes(), stride: x.row_bytes, tokens: x.count }
}
