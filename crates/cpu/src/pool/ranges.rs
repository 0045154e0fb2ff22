//! Regions whose chunks lie side by side in memory: each thread takes a run of neighbours.

use std::ops::Range;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use super::Team;

/// The most ranges of a region. Threads beyond that only help.
const RANGES: usize = 64;

impl Team<'_> {
    /// As [`Team::run`], in another order: each thread has a range of chunks and takes them one after the other.
    /// Who is through takes from the ends of the others' ranges.
    ///
    /// For chunks that read one piece of memory from end to end: what a thread, or the processor for it, has asked
    /// for ahead at the end of a chunk belongs to its next one, and not to the chunk of another.
    ///
    /// # Panics
    /// As [`Team::run`].
    pub fn run_in_ranges(&self, chunks: usize, f: &(dyn Fn(usize, usize) + Sync)) {
        let ranges = self.existing().min(RANGES);
        if ranges == 1 || chunks <= ranges {
            return self.run(chunks, f);
        }
        assert!(u32::try_from(chunks).is_ok(), "a region has fewer than 2^32 chunks");
        let left = [const { AtomicU64::new(0) }; RANGES];
        for (index, left) in left[..ranges].iter().enumerate() {
            let Range { start, end } = range(index, ranges, chunks);
            left.store(start as u64 | (end as u64) << 32, Relaxed);
        }
        self.run(ranges, &|_, worker| {
            // The same thread takes the same range each time, and knows it before: see `announce`. Whoever comes a second
            // time, for a thread that did not come, finds nothing left.
            let own = worker % ranges;
            while let Some(chunk) = first(&left[own]) {
                f(chunk, worker);
            }
            for other in (own + 1..ranges).chain(0..own) {
                while let Some(chunk) = last(&left[other]) {
                    f(chunk, worker);
                }
            }
        });
    }

    /// Says what the next [`Team::run_in_ranges`] will read of memory: of each chunk some pieces. Threads that wait until
    /// then ask for the first of it. Nothing happens if no such region comes, or another one.
    pub fn announce<'b, const N: usize>(&self, chunks: usize, reads: impl Fn(usize) -> [&'b [u8]; N]) {
        let ranges = self.existing().min(RANGES);
        if ranges == 1 || chunks <= ranges {
            return;
        }
        // The calling thread has work all the time.
        for index in 1..ranges {
            let pieces = range(index, ranges, chunks).flat_map(&reads);
            self.ahead().set(index, pieces);
        }
        self.ahead().publish();
    }
}

/// The chunks of a range.
fn range(index: usize, ranges: usize, chunks: usize) -> Range<usize> {
    index * chunks / ranges..(index + 1) * chunks / ranges
}

/// Takes the first chunk of a range: its next one is in the low half of the number, its end in the high half.
fn first(range: &AtomicU64) -> Option<usize> {
    take(range, |left| left + 1).map(|left| left as u32 as usize)
}

/// Takes the last chunk of a range.
fn last(range: &AtomicU64) -> Option<usize> {
    take(range, |left| left - (1 << 32)).map(|left| (left >> 32) as usize - 1)
}

/// What the range was before, if it was not empty. The order of memory does not matter: the chunks' results are
/// published by the end of the region.
fn take(range: &AtomicU64, rest: impl Fn(u64) -> u64) -> Option<u64> {
    let empty = |left: u64| left as u32 == (left >> 32) as u32;
    range.fetch_update(Relaxed, Relaxed, |left| (!empty(left)).then(|| rest(left))).ok()
}
