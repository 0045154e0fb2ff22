//! `quantize`.

use super::Run;
use crate::quantize::quantize_blocks;

pub(super) fn run(run: &Run) {
    let (x, out) = (run.input(0), run.output(0));
    run.by_rows(out.count, x.row_bytes, &|first, end, _| {
        for row in first..end {
            // SAFETY: the output has a row of this many columns, written by one thread.
            unsafe { quantize_blocks(run.isa, x.float_row(row), out.row(row), out.columns, 0) }
        }
    });
}
