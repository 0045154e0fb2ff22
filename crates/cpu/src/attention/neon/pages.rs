//! The pages of one head of the cache that a run sees of a range.

use std::ops::Range;

use graph::DType;

use super::super::{Cache, PAGE, RANGE};
use super::Run;
use crate::isa::Isa;
use crate::kv::{kv_row_bytes, load_row};

/// A run of more rows converts halves to floats first.
const ROWS_DIRECT: usize = 8;

/// A page of which some token of the run sees a position.
pub struct Page {
    dtype: DType,
    /// The row of the page's first position.
    base: *const u8,
    /// From the first to the last position that some token sees, relative to the range.
    span: Range<usize>,
}

/// Rows of floats for the positions `span`.
pub struct Rows {
    /// F32, F16 or BF16.
    pub dtype: DType,
    /// The row of the page's first position, which may not be there.
    base: *const u8,
    row_bytes: usize,
    /// Positions relative to the range, all of one page.
    pub span: Range<usize>,
}

impl Page {
    /// The pages of the range at `first`, in order; `cache` is `task.k` or `task.v`.
    ///
    /// # Safety
    /// As [`super::attention`].
    pub unsafe fn all(run: &Run, cache: &Cache, first: usize) -> impl Iterator<Item = Page> {
        let table = run.task.table(run.tokens.start);
        (0..RANGE).step_by(PAGE).filter_map(move |begin| {
            let mut span = begin + PAGE..begin;
            for row in (0..run.rows()).step_by(run.task.group()) {
                let seen = run.seen(row, first);
                let (start, end) = (seen.start.max(begin), seen.end.min(begin + PAGE));
                if start < end {
                    span = span.start.min(start)..span.end.max(end);
                }
            }
            if span.is_empty() {
                return None;
            }
            // SAFETY: some token sees a position of this page, so the page exists.
            let base = unsafe { cache.row(table, run.kv_head, run.task.head_dim, first + begin) };
            Some(Page { dtype: cache.dtype, base, span })
        })
    }

    /// Its rows as they lie there, or converted into `floats`, which has PAGE rows.
    ///
    /// # Safety
    /// The page is readable, and the CPU has NEON.
    pub unsafe fn rows(&self, run: &Run, floats: &mut [f32]) -> Rows {
        let dim = run.task.head_dim;
        let halves = matches!(self.dtype, DType::F16 | DType::BF16);
        let row_bytes = kv_row_bytes(self.dtype, dim);
        if self.dtype == DType::F32 || (halves && run.rows() <= ROWS_DIRECT) {
            return Rows { dtype: self.dtype, base: self.base, row_bytes, span: self.span.clone() };
        }
        for position in self.span.clone() {
            let index = position % PAGE;
            let row = floats[index * dim..][..dim].as_mut_ptr();
            // SAFETY: the position lies in the page; the row has `dim` elements.
            unsafe { load_row(Isa::Neon, self.dtype, self.base.add(index * row_bytes), dim, row) };
        }
        let base = floats.as_ptr().cast();
        Rows { dtype: DType::F32, base, row_bytes: dim * size_of::<f32>(), span: self.span.clone() }
    }
}

impl Rows {
    /// The row of a position.
    ///
    /// # Safety
    /// The position lies in the span.
    pub unsafe fn row(&self, position: usize) -> *const u8 {
        // SAFETY: the caller's promise.
        unsafe { self.base.add(position % PAGE * self.row_bytes) }
    }

    /// Bytes from a row to the next.
    pub fn row_bytes(&self) -> usize {
        self.row_bytes
    }
}
