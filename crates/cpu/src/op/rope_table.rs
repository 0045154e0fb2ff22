//! `rope_table`.

use graph::op::RopeTable;

use super::Run;
use crate::rope::rope_table;

pub(super) fn run(run: &Run, op: &RopeTable) {
    let (positions, out) = (run.input(0).integers(), run.output(0));
    let factors = op.factors.then(|| run.input(1).float_row(0));
    // A sine costs about as much as moving a hundred bytes.
    run.by_rows(out.count, out.row_bytes * 25, &|first, end, _| {
        for row in first..end {
            // SAFETY: a row of the output, written by this thread alone.
            let table = unsafe { std::slice::from_raw_parts_mut(out.floats(row), out.columns) };
            rope_table(positions[row], op.rot, op.base, &op.scaling, factors, table);
        }
    });
}
