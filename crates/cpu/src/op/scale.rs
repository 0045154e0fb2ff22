//! `scale` and `soft_cap`: a function of each element.

use super::Run;
use crate::elementwise;

pub(super) fn scale(run: &Run, factor: f32) {
    let (x, out) = (run.input(0), run.output(0));
    run.by_rows(out.count, out.row_bytes, &|first, end, _| {
        for row in first..end {
            // SAFETY: rows of one length, each written by one thread, over itself at most.
            unsafe { elementwise::scale(x.floats(row), factor, out.floats(row), out.columns) }
        }
    });
}

pub(super) fn soft_cap(run: &Run, cap: f32) {
    let (x, out) = (run.input(0), run.output(0));
    run.by_rows(out.count, out.row_bytes, &|first, end, _| {
        for row in first..end {
            // SAFETY: as above.
            unsafe { elementwise::cap(run.isa, x.floats(row), cap, out.floats(row), out.columns) }
        }
    });
}
