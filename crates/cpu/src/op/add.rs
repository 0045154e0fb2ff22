//! `add`.

use super::Run;
use crate::elementwise;

pub(super) fn run(run: &Run) {
    let (a, b, out) = (run.input(0), run.input(1), run.output(0));
    let one_row = b.count == 1 && run.call.inputs[0].shape != run.call.inputs[1].shape;
    run.by_rows(out.count, out.row_bytes, &|first, end, _| {
        for row in first..end {
            let b = b.floats(if one_row { 0 } else { row });
            // SAFETY: rows of the same length; each is written by one thread, and over itself at most.
            unsafe { elementwise::add(run.isa, a.floats(row), b, out.floats(row), out.columns) }
        }
    });
}
