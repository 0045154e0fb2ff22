//! `rope`.

use graph::op::Rope;

use super::Run;
use crate::{elementwise, rope::rope_row};

pub(super) fn run(run: &Run, op: &Rope) {
    let (x, table, out) = (run.input(0), run.input(1), run.output(0));
    let bias = op.bias.then(|| run.input(2).float_row(0));
    run.by_rows(out.count, out.row_bytes, &|first, end, _| {
        for row in first..end {
            let (from, to) = (x.floats(row), out.floats(row));
            // SAFETY: rows of one length, each written by this thread alone, over itself at most.
            unsafe {
                place(run, from, bias, to, out.columns);
                rope_row(run.isa, to, op.heads, op.head_dim, op.rot, op.pairs, table.float_row(row));
            }
        }
    });
}

/// Brings a row, with its bias if there is one, to where it is turned.
///
/// # Safety
/// `from` and `to` are rows of `n` floats, the same or apart; no other thread writes them.
pub(super) unsafe fn place(run: &Run, from: *const f32, bias: Option<&[f32]>, to: *mut f32, n: usize) {
    // SAFETY: the caller's promise.
    unsafe {
        match bias {
            Some(bias) => elementwise::add(run.isa, from, bias.as_ptr(), to, n),
            None if from != to.cast_const() => std::ptr::copy_nonoverlapping(from, to, n),
            None => {}
        }
    }
}
