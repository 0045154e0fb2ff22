//! `sum_experts`: what the experts of a token say, weighted.

use super::Run;
use crate::elementwise;

pub(super) fn run(run: &Run) {
    let (x, weights, out) = (run.input(0), run.input(1), run.output(0));
    let used = weights.columns;
    run.by_rows(out.count, out.row_bytes * used, &|first, end, _| {
        for token in first..end {
            let to = out.floats(token);
            // SAFETY: a row of the output, written by this thread alone; the operands do not overlap it.
            unsafe {
                to.write_bytes(0, out.columns);
                for (k, weight) in weights.float_row(token).iter().enumerate() {
                    let said = x.floats(token * used + k);
                    elementwise::add_scaled(run.isa, to, said, *weight, to, out.columns);
                }
            }
        }
    });
}
