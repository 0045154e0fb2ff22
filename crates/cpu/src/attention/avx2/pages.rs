//! The rows of one head of the cache in one range: as they lie in pages, or as floats.

use std::arch::x86_64::*;
use std::ops::Range;

use super::super::{Attention, Cache, PAGE, RANGE};
use super::{Run, seen};
use crate::isa::Isa;
use crate::kv::{kv_row_bytes, load_row};

const PAGES: usize = RANGE / PAGE;

/// How many positions memory is asked for ahead of what is read.
pub const AHEAD: usize = 4 * PAGE;

/// What a run sees of a range.
pub struct Pages {
    pub dtype: graph::DType,
    pub head_dim: usize,
    pub row_bytes: usize,
    /// First row of each page.
    base: [*const u8; PAGES],
    /// Positions of each page, relative to the range, from the first to the last that some token
    /// sees; empty for a page that none sees, which may not exist.
    pub spans: [Range<usize>; PAGES],
}

impl Pages {
    /// # Safety
    /// As [`super::attention`]; `cache` is `task.k` or `task.v`.
    pub unsafe fn new(run: &Run, cache: &Cache, first: usize) -> Pages {
        let task = run.task;
        let table = task.table(run.tokens.start);
        let mut base = [std::ptr::null(); PAGES];
        let spans = std::array::from_fn(|page| {
            let span = span(task, run.tokens.clone(), first, page);
            if !span.is_empty() {
                let position = first + page * PAGE;
                // SAFETY: some token sees a position of this page, so the page exists.
                base[page] = unsafe { cache.row(table, run.kv_head, task.head_dim, position) };
            }
            span
        });
        Pages {
            dtype: cache.dtype,
            head_dim: task.head_dim,
            row_bytes: kv_row_bytes(cache.dtype, task.head_dim),
            base,
            spans,
        }
    }

    /// The row of a position relative to the range.
    ///
    /// # Safety
    /// The position lies in the span of its page.
    pub unsafe fn row(&self, position: usize) -> *const u8 {
        // SAFETY: a page that has a span exists.
        unsafe { self.base[position / PAGE].add(position % PAGE * self.row_bytes) }
    }

    /// The rows of eight positions, each moved into the span, so that no row outside is read.
    ///
    /// # Safety
    /// The span is one of `spans`, not empty, and the positions are of its page.
    pub unsafe fn eight_rows(&self, span: &Range<usize>, position: usize) -> [*const u8; 8] {
        std::array::from_fn(|lane| {
            let position = (position + lane).clamp(span.start, span.end - 1);
            // SAFETY: the position lies in the span.
            unsafe { self.row(position) }
        })
    }

    /// Asks memory for the rows of some positions of one page, if the page is seen at all. Heads lie apart from each other,
    /// so the processor does not see by itself what comes behind the end of a page.
    pub fn ask(&self, positions: Range<usize>) {
        let base = self.base[positions.start / PAGE];
        if base.is_null() {
            return;
        }
        let first = positions.start % PAGE * self.row_bytes;
        for line in (first..first + positions.len() * self.row_bytes).step_by(64) {
            // SAFETY: SSE is part of x86-64, and a prefetch reads nothing that the program sees.
            unsafe { _mm_prefetch::<_MM_HINT_T1>(base.wrapping_add(line).cast()) };
        }
    }

    /// Writes the rows of all spans as floats, `stride` apart.
    ///
    /// # Safety
    /// The pages are readable, and the CPU has AVX2 and F16C.
    pub unsafe fn unpack(&self, stride: usize, rows: &mut [f32]) {
        for span in &self.spans {
            for position in span.clone() {
                let row = &mut rows[position * stride..][..self.head_dim];
                // SAFETY: the position lies in the span.
                unsafe {
                    let src = self.row(position);
                    load_row(Isa::Avx2, self.dtype, src, self.head_dim, row.as_mut_ptr());
                }
            }
        }
    }
}

/// The positions of a page of the range at `first` from the first to the last that some token sees.
fn span(task: &Attention, tokens: Range<usize>, first: usize, page: usize) -> Range<usize> {
    let (begin, end) = (page * PAGE, (page + 1) * PAGE);
    let mut span = end..begin;
    for token in tokens {
        let seen = seen(task, token, first);
        let (start, end) = (seen.start.max(begin), seen.end.min(end));
        if start < end {
            span = span.start.min(start)..span.end.max(end);
        }
    }
    span
}

/// Rows of values.
pub enum Rows<'a> {
    /// As they lie in pages.
    Pages(&'a Pages),
    /// Floats, (RANGE, stride).
    Floats(&'a [f32]),
}
