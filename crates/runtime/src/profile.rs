//! Where the time of runs goes, by operation.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use backend::{At, Backend, Call};
use compile::Program;
use graph::{Extents, Region};

use crate::{RuntimeError, executor};

/// Calls of one kind, summed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProfileRow {
    /// How many calls.
    pub calls: usize,
    /// From submission to completion.
    pub time: Duration,
    /// Bytes that had to be touched: operands, weights, cached positions.
    pub bytes: u64,
    /// Multiplications and additions of products.
    pub operations: u64,
}

/// Rows by the operation's label and the types of its weights. Each call runs alone and is waited for, so that
/// profiled runs are a little slower than others.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Profile {
    /// By label.
    pub rows: BTreeMap<String, ProfileRow>,
}

/// Positions that the tokens of a batch see, in layers that see everything and in those with a window.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Seen {
    /// Positions that some token of a sequence sees, over all sequences: what must be read.
    pub read: [u64; 2],
    /// Positions that each token sees, over all tokens: what must be computed.
    pub computed: [u64; 2],
}

impl Seen {
    /// Adds `count` tokens after `before` positions of a sequence.
    pub fn add(&mut self, before: usize, count: usize, window: Option<usize>) {
        for (kind, window) in [None, window].into_iter().enumerate() {
            let window = window.unwrap_or(usize::MAX);
            self.read[kind] += (before + count).min(window.saturating_add(count - 1)) as u64;
            self.computed[kind] += (before + 1..=before + count).map(|n| n.min(window) as u64).sum::<u64>();
        }
    }

    /// Adds a text of `count` tokens that all see all of it.
    pub fn add_whole(&mut self, count: usize) {
        for kind in 0..2 {
            self.read[kind] += count as u64;
            self.computed[kind] += (count * count) as u64;
        }
    }
}

/// Runs every split as [`executor::run`] does, call by call.
pub(crate) fn run(
    devices: &mut [Box<dyn Backend>],
    program: &Program,
    extents: &Extents,
    staging: &mut Vec<u8>,
    profile: &mut Profile,
    seen: &Seen,
) -> Result<(), RuntimeError> {
    for split in &program.splits {
        executor::bring(devices, split, extents, staging)?;
        let device = &mut devices[split.device.0];
        for call in split.calls.iter() {
            let alone: Arc<[Call]> = Arc::from([call.clone()]);
            let started = Instant::now();
            device.run(&alone, extents)?;
            device.synchronize()?;
            let time = started.elapsed();
            let (bytes, operations) = work(call, program, extents, seen);
            let row = profile.rows.entry(label(call)).or_default();
            row.calls += 1;
            row.time += time;
            row.bytes += bytes;
            row.operations += operations;
        }
    }
    Ok(())
}

/// The operation and the types of its weights, each once.
fn label(call: &Call) -> String {
    let weights = call.inputs.iter().filter(|o| matches!(o.at, At::Weight(_)));
    let mut types: Vec<&str> = weights.map(|o| o.dtype.name()).filter(|name| *name != "F32").collect();
    types.sort_unstable();
    types.dedup();
    let label = call.op.facts().label;
    if types.is_empty() { label.to_owned() } else { format!("{label} {}", types.join("+")) }
}

fn work(call: &Call, program: &Program, extents: &Extents, seen: &Seen) -> (u64, u64) {
    let metas =
        |operands: &[backend::Operand]| -> Vec<_> { operands.iter().map(|o| (o.shape, o.dtype)).collect() };
    let work = call.op.work(&metas(&call.inputs), &metas(&call.outputs), extents);
    let facts = call.op.facts();
    let regions = facts.reads.iter().map(|id| &program.regions[id.0 as usize].0);
    let kind = |region: &Region| usize::from(region.window.is_some());
    let cached: u64 = regions.clone().map(|r| seen.read[kind(r)] * r.bytes_per_position() as u64).sum();
    let positions = regions.map(|r| seen.computed[kind(r)]).next().unwrap_or(0);
    (work.bytes + cached, work.operations + work.operations_a_position * positions)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_see_what_is_before_them_within_the_window() {
        let mut seen = Seen::default();
        seen.add(10, 1, Some(4));
        assert_eq!((seen.read, seen.computed), ([11, 4], [11, 4]));
        let mut seen = Seen::default();
        seen.add(2, 3, Some(4));
        seen.add(0, 2, Some(4));
        // 3 + 4 + 5 and 1 + 2 positions; with the window 3 + 4 + 4 and 1 + 2.
        assert_eq!((seen.read, seen.computed), ([7, 7], [15, 14]));
    }
}
