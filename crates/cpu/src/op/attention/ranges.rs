//! Attention of few tokens: work is cut into ranges of positions too, so that all threads have some.
//!
//! The tokens of one sequence that follow each other and one head of the cache are a unit, a unit and a range an
//! item. Whoever finishes the last item of a unit folds them, from the first range to the last. What items leave
//! lies in slots of the scratch, behind what each thread needs for itself; if there are more items than slots,
//! they are done in rounds, and what a unit has so far is carried from one round to the next.

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::super::Run;
use crate::attention::{
    Attention, FEW_TOKENS, attention_range, fold_part, part_len, range_scratch_bytes, write_part,
};

/// Most items of a round.
const MOST_SLOTS: usize = 128;

/// Tokens of one sequence that follow each other.
#[derive(Clone, Default)]
struct Tokens {
    tokens: Range<usize>,
    ranges: Range<usize>,
    /// Items from the first of these tokens' on to the first of the next ones'.
    items: Range<usize>,
}

/// The items of a batch, numbered by tokens, then heads, then ranges.
struct Items {
    all: [Tokens; FEW_TOKENS],
    used: usize,
}

/// A unit: all ranges of a head of the cache.
struct Unit {
    tokens: Range<usize>,
    kv_head: usize,
    /// Its items.
    items: Range<usize>,
    /// The range of the first item.
    first: usize,
}

impl Items {
    fn new(task: &Attention) -> Items {
        let mut items = Items { all: Default::default(), used: 0 };
        let mut start = 0;
        let mut item = 0;
        while let Some(sequence) = task.sequences.get(start) {
            let same = task.sequences[start..].iter().take_while(|s| *s == sequence).count();
            let tokens = start..start + same;
            let ranges = task.ranges(tokens.clone());
            let end = item + ranges.len() * task.heads_kv;
            items.all[items.used] = Tokens { tokens, ranges, items: item..end };
            items.used += 1;
            (start, item) = (start + same, end);
        }
        items
    }

    fn count(&self) -> usize {
        self.all[self.used - 1].items.end
    }

    /// The unit of an item.
    fn unit(&self, item: usize) -> Unit {
        let of = self.all[..self.used].iter().find(|t| item < t.items.end).expect("one of the items");
        let kv_head = (item - of.items.start) / of.ranges.len();
        let start = of.items.start + kv_head * of.ranges.len();
        Unit {
            tokens: of.tokens.clone(),
            kv_head,
            items: start..start + of.ranges.len(),
            first: of.ranges.start,
        }
    }
}

/// The scratch of a call, cut for a batch.
struct Slots {
    base: *mut u8,
    /// Bytes of a thread's part.
    bytes: usize,
    /// Bytes at the beginning of a thread's part that are its own.
    own: usize,
    /// Floats of a slot, and how many lie in a thread's part.
    floats: usize,
    each: usize,
}

// SAFETY: threads use their own part and the slots of the items that they have claimed, or folded last.
unsafe impl Sync for Slots {}

impl Slots {
    fn new(run: &Run, task: &Attention, most_rows: usize) -> Slots {
        let (base, bytes) = run.scratch_parts().expect("attention has scratch");
        let own = range_scratch_bytes(run.isa, task.head_dim, most_rows).next_multiple_of(64);
        let floats = part_len(task.head_dim, most_rows).next_multiple_of(16);
        let each = (bytes - own) / (floats * size_of::<f32>());
        Slots { base, bytes, own, floats, each }
    }

    /// # Safety
    /// `slot` is below `each` times the threads, and nothing else uses it meanwhile.
    #[allow(clippy::mut_from_ref)] // Slots do not overlap.
    unsafe fn slot(&self, slot: usize) -> &mut [f32] {
        let at = slot / self.each * self.bytes + self.own + slot % self.each * self.floats * size_of::<f32>();
        // SAFETY: inside the part of a thread, aligned as that is, and every pattern of four bytes is an f32.
        unsafe { std::slice::from_raw_parts_mut(self.base.add(at).cast(), self.floats) }
    }

    /// # Safety
    /// The worker exists, and nothing else uses its own bytes meanwhile.
    #[allow(clippy::mut_from_ref)] // Parts do not overlap.
    unsafe fn own(&self, worker: usize) -> &mut [u8] {
        // SAFETY: inside the part of the worker.
        unsafe { std::slice::from_raw_parts_mut(self.base.add(worker * self.bytes), self.own) }
    }
}

/// Computes the attention of a batch of at most [`FEW_TOKENS`] tokens.
pub fn run(run: &Run, task: &Attention) {
    let items = Items::new(task);
    let most_tokens = items.all.iter().map(|t| t.tokens.len()).max().unwrap_or(0);
    let slots = Slots::new(run, task, most_tokens * task.group());
    let most = (slots.each * run.pool.threads()).min(MOST_SLOTS);
    assert!(most > 1, "the scratch has room for two parts a thread");
    let mut next = 0;
    // Slot 0 holds what an earlier round left of the first unit.
    let mut carried = false;
    while next < items.count() {
        let round = next..items.count().min(next + most - usize::from(carried));
        let shift = usize::from(carried);
        let done = [const { AtomicUsize::new(0) }; MOST_SLOTS];
        run.pool.run(round.len(), &|chunk, worker| {
            let item = round.start + chunk;
            let unit = items.unit(item);
            let range = unit.first + (item - unit.items.start);
            // SAFETY: operands are as large as the task says; positions, sequences and pages were checked; the
            // store before this call wrote the visible cells; the slot is this item's, and the scratch the
            // worker's own.
            unsafe {
                let (part, own) = (slots.slot(chunk + shift), slots.own(worker));
                attention_range(run.isa, task, unit.tokens.clone(), unit.kv_head, range, part, own);
            }
            let here = unit.items.start.max(round.start)..unit.items.end.min(round.end);
            let first = here.start - round.start;
            // Acquire and release: who is last sees what the others wrote.
            if done[first].fetch_add(1, Ordering::AcqRel) + 1 == here.len() {
                let into = if unit.items.start < round.start { 0 } else { first + shift };
                // SAFETY: all items of the unit in this round are done, and only the last one comes here: the
                // slots are its own now. No other unit has these rows of the result.
                unsafe { finish(run, task, &slots, &unit, into, first + shift, here) };
            }
        });
        let last = items.unit(round.end - 1);
        carried = last.items.end > round.end;
        let from = last.items.start.saturating_sub(round.start) + shift;
        if carried && last.items.start >= round.start && from != 0 {
            // SAFETY: the round is over; the slots are two.
            unsafe { slots.slot(0).copy_from_slice(slots.slot(from)) };
        }
        next = round.end;
    }
}

/// Folds the items `here` of a unit, the first of which has slot `first`, into slot `into`; and writes the results
/// if the unit ends with them.
///
/// # Safety
/// Nothing else uses the slots or the results meanwhile.
unsafe fn finish(
    run: &Run,
    task: &Attention,
    slots: &Slots,
    unit: &Unit,
    into: usize,
    first: usize,
    here: Range<usize>,
) {
    let rows = unit.tokens.len() * task.group();
    // SAFETY: the caller's promise; slots that differ do not overlap.
    unsafe {
        let all = slots.slot(into);
        for slot in (first..first + here.len()).filter(|slot| *slot != into) {
            fold_part(run.isa, task.head_dim, rows, all, slots.slot(slot));
        }
        if here.end == unit.items.end {
            write_part(run.isa, task, unit.tokens.clone(), unit.kv_head, all);
        }
    }
}
