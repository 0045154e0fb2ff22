//! `get_rows`.

use backend::BackendError;
use graph::DType;

use super::Run;
use crate::matmul::dequantize_row;

pub(super) fn run(run: &Run) -> Result<(), BackendError> {
    let (table, ids, out) = (run.input(0), run.input(1).integers(), run.output(0));
    let inside = |id: &&i32| usize::try_from(**id).is_ok_and(|id| id < table.count);
    if let Some(id) = ids.iter().find(|id| !inside(id)) {
        return Err(run.index_error("row", *id, table.count));
    }
    run.by_rows(out.count, out.row_bytes, &|first, end, _| {
        for row in first..end {
            let source = table.row(ids[row] as usize);
            if table.dtype == out.dtype {
                // SAFETY: a row of each, which do not overlap: the operation has no right to work in place.
                unsafe { std::ptr::copy_nonoverlapping(source, out.row(row), out.row_bytes) };
                continue;
            }
            assert_eq!(out.dtype, DType::F32);
            // SAFETY: a row of the table, and a row of the output that this thread alone writes.
            let (source, row) = unsafe {
                let source = std::slice::from_raw_parts(source, table.row_bytes);
                (source, std::slice::from_raw_parts_mut(out.floats(row), out.columns))
            };
            dequantize_row(table.dtype, source, row);
        }
    });
    Ok(())
}
