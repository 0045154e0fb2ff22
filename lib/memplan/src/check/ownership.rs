//! Who owns which bytes of one space.

use std::collections::BTreeMap;

/// Disjoint ranges of bytes, each with the value that was written there last.
#[derive(Default)]
pub(super) struct Ownership {
    /// Start of a range to its end and owner. Ranges are not empty.
    ranges: BTreeMap<u64, (u64, usize)>,
}

/// A byte that does not belong to the value that was asked for.
pub(super) struct Foreign {
    pub offset: u64,
    /// `None` when nobody wrote the byte.
    pub owner: Option<usize>,
}

impl Ownership {
    /// The first byte of `start..end` that is not the owner's.
    pub fn first_foreign(&self, start: u64, end: u64, owner: usize) -> Option<Foreign> {
        let mut at = start;
        while at < end {
            let range = self.ranges.range(..=at).next_back();
            match range.map(|(_, range)| range).filter(|(range_end, _)| *range_end > at) {
                Some(&(range_end, found)) if found == owner => at = range_end,
                found => return Some(Foreign { offset: at, owner: found.map(|&(_, owner)| owner) }),
            }
        }
        None
    }

    /// The first byte of `start..end` that anybody owns, and its owner.
    pub fn first_owned(&self, start: u64, end: u64) -> Option<(u64, usize)> {
        let reaching_in =
            self.ranges.range(..start).next_back().filter(|(_, (range_end, _))| *range_end > start);
        let (&at, &(_, owner)) = reaching_in.or_else(|| self.ranges.range(start..end).next())?;
        (start < end).then_some((at.max(start), owner))
    }

    /// Gives `start..end` to a new owner. What reaches over its borders keeps the rest.
    pub fn take(&mut self, start: u64, end: u64, owner: usize) {
        if start >= end {
            return;
        }
        for border in [start, end] {
            if let Some((&at, &(range_end, old))) = self.ranges.range(..border).next_back()
                && range_end > border
            {
                self.ranges.insert(at, (border, old));
                self.ranges.insert(border, (range_end, old));
            }
        }
        while let Some((&at, _)) = self.ranges.range(start..end).next() {
            self.ranges.remove(&at);
        }
        self.ranges.insert(start, (end, owner));
    }
}
