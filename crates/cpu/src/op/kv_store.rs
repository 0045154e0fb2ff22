//! `kv_store`: rows into the pages of a cache region, turned and biased on the way if fusion says so.

use backend::BackendError;
use graph::op::KvStore;

use super::rope::place;
use super::{Run, float_scratch};
use crate::attention::PAGE;
use crate::kv::{kv_row_bytes, store_row};
use crate::memory::RegionMemory;
use crate::rope::rope_row;

/// A row of f32 where something is done to it first.
pub(super) fn scratch_bytes(op: &KvStore) -> usize {
    let changed = op.rope.is_some() || op.bias;
    if changed { op.heads * op.head_dim * size_of::<f32>() } else { 0 }
}

pub(super) fn run(run: &Run, op: &KvStore) -> Result<(), BackendError> {
    let x = run.input(0);
    let places = Places::new(run, 1, op.context)?;
    let region = region(run, op.region)?;
    places.check(run, region, Some(1))?;
    let table = op.rope.as_ref().map(|_| run.input(4));
    let bias = op.bias.then(|| run.input(run.call.inputs.len() - 1).float_row(0));
    let (row_bytes, page_bytes) = (kv_row_bytes(region.region.dtype, op.head_dim), region.page_bytes());
    let memory = MemoryBase(region.memory.base());
    run.by_rows(x.count, x.row_bytes, &|first, end, worker| {
        let memory = &memory;
        for row in first..end {
            let (page, cell) = places.cell(row);
            // SAFETY: the scratch is the worker's own; page and cell were checked to be inside the region;
            // no other token of the batch has this cell.
            unsafe {
                let mut source = x.floats(row).cast_const();
                if table.is_some() || bias.is_some() {
                    let changed = float_scratch(run.scratch(worker), x.columns);
                    place(run, source, bias, changed.as_mut_ptr(), x.columns);
                    if let (Some(rope), Some(table)) = (&op.rope, &table) {
                        let (heads, table) = (rope.heads, table.float_row(row));
                        rope_row(
                            run.isa,
                            changed.as_mut_ptr(),
                            heads,
                            op.head_dim,
                            rope.rot,
                            rope.pairs,
                            table,
                        );
                    }
                    source = changed.as_ptr();
                }
                for head in 0..op.heads {
                    let to = memory.0.add(page * page_bytes + (head * PAGE + cell) * row_bytes);
                    store_row(run.isa, region.region.dtype, source.add(head * op.head_dim), op.head_dim, to);
                }
            }
        }
    });
    Ok(())
}

struct MemoryBase(*mut u8);

// SAFETY: threads write different cells.
unsafe impl Sync for MemoryBase {}

/// The region of a call.
pub(super) fn region<'a>(run: &Run<'a>, id: graph::RegionId) -> Result<&'a RegionMemory, BackendError> {
    let unknown = || BackendError::Unknown { device: "cpu".to_owned(), what: format!("region {}", id.0) };
    run.regions.get(&id).ok_or_else(unknown)
}

/// Where the tokens of a batch are in the cache: three inputs that every cache operation has.
pub(super) struct Places<'a> {
    pub positions: &'a [i32],
    pub sequences: &'a [i32],
    pub page_tables: &'a [i32],
    /// Pages in a row of the tables.
    pub table_stride: usize,
}

impl<'a> Places<'a> {
    /// Reads the inputs from number `first` on and checks every position and sequence.
    pub fn new(run: &Run<'a>, first: usize, context: usize) -> Result<Places<'a>, BackendError> {
        let tables = run.input(first + 2);
        let places = Places {
            positions: run.input(first).integers(),
            sequences: run.input(first + 1).integers(),
            page_tables: tables.integers(),
            table_stride: tables.columns,
        };
        let context = context.min(tables.columns * PAGE);
        let beyond =
            places.positions.iter().find(|p| usize::try_from(**p).is_ok_and(|p| p >= context) || **p < 0);
        if let Some(position) = beyond {
            return Err(BackendError::PositionBeyondContext { position: i64::from(*position), context });
        }
        let stray =
            places.sequences.iter().find(|s| usize::try_from(**s).map_or(true, |s| s >= tables.count));
        match stray {
            Some(sequence) => Err(run.index_error("sequence", *sequence, tables.count)),
            None => Ok(places),
        }
    }

    /// Refuses tables that name pages outside the region, among the pages that the tokens touch: those of their
    /// latest `window` positions, or of all. Pages before may have been given back.
    pub fn check(&self, run: &Run, region: &RegionMemory, window: Option<usize>) -> Result<(), BackendError> {
        let mut first = 0;
        // Tokens of one sequence follow each other, and are looked at together.
        for together in self.sequences.chunk_by(|a, b| a == b) {
            let positions = &self.positions[first..first + together.len()];
            first += together.len();
            let latest = positions.iter().max().map_or(0, |p| *p as usize);
            let earliest = positions.iter().min().map_or(0, |p| *p as usize);
            let start = window.map_or(0, |window| (earliest + 1).saturating_sub(window));
            let pages = start / PAGE..latest / PAGE + 1;
            let table = &self.page_tables[together[0] as usize * self.table_stride..][pages];
            let stray = table.iter().find(|p| usize::try_from(**p).map_or(true, |p| p >= region.pages));
            if let Some(page) = stray {
                return Err(run.index_error("page", *page, region.pages));
            }
        }
        Ok(())
    }

    /// Page of the region and position in it of a token.
    fn cell(&self, token: usize) -> (usize, usize) {
        let position = self.positions[token] as usize;
        let table = self.sequences[token] as usize * self.table_stride;
        (self.page_tables[table + position / PAGE] as usize, position % PAGE)
    }
}
