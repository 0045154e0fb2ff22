//! One independent part of a packing as the search sees it: time cut down to the moments that matter.

use crate::pack::Item;

/// Lives in time cut into sections, each a largest set of lives that exist together; what holds there holds everywhere.
pub(super) struct Board {
    /// By life: size in bytes, never 0.
    pub size: Vec<u64>,
    /// By life: how many steps it lasts.
    pub steps: Vec<u64>,
    /// By life: first and last section, inclusive.
    pub span: Vec<(u32, u32)>,
    /// By life: lives of equal size and span are twins and have the same number.
    pub twins: Vec<u32>,
    /// By section: the sum of the sizes in it.
    pub load: Vec<u64>,
    /// The lives of section `s` are `crossing[starts[s]..starts[s + 1]]`.
    starts: Vec<u32>,
    crossing: Vec<u32>,
}

impl Board {
    /// `None` when lives and sections are so many that a table of who lives where has more than `entries_max` entries.
    pub fn new(items: &[Item], entries_max: usize) -> Option<Self> {
        let span = spans(items);
        let sections = span.iter().map(|s| s.1 as usize + 1).max().unwrap_or(0);
        let entries: usize = span.iter().map(|s| (s.1 - s.0) as usize + 1).sum();
        if entries > entries_max {
            return None;
        }
        let mut load = vec![0; sections];
        let mut starts = vec![0u32; sections + 1];
        for (item, s) in items.iter().zip(&span) {
            for t in s.0..=s.1 {
                load[t as usize] += item.bytes;
                starts[t as usize + 1] += 1;
            }
        }
        for t in 0..sections {
            starts[t + 1] += starts[t];
        }
        let mut next = starts.clone();
        let mut crossing = vec![0; entries];
        for (i, s) in span.iter().enumerate() {
            for t in s.0..=s.1 {
                crossing[next[t as usize] as usize] = i as u32;
                next[t as usize] += 1;
            }
        }
        let size: Vec<u64> = items.iter().map(|item| item.bytes).collect();
        let steps = items.iter().map(|item| u64::from(item.last - item.first) + 1).collect();
        let twins = twins(&size, &span);
        Some(Self { size, steps, span, twins, load, starts, crossing })
    }

    /// How many sections there are.
    pub fn sections(&self) -> usize {
        self.load.len()
    }

    /// The lives of a section.
    pub fn lives_in(&self, section: usize) -> &[u32] {
        &self.crossing[self.starts[section] as usize..self.starts[section + 1] as usize]
    }
}

/// First and last section of each item. A section ends where a life ends after others have begun.
pub(super) fn spans(items: &[Item]) -> Vec<(u32, u32)> {
    // Twice the step, and one more for an end, so that ends come after all that begins at their step.
    let begin = |i: usize| (2 * u64::from(items[i].first), i);
    let end = |i: usize| (2 * u64::from(items[i].last) + 1, i);
    let mut events: Vec<(u64, usize)> = (0..items.len()).flat_map(|i| [begin(i), end(i)]).collect();
    events.sort_unstable();
    let mut span = vec![(0, 0); items.len()];
    let mut sections = 0;
    let mut grown = false;
    for (at, i) in events {
        if at % 2 == 0 {
            span[i].0 = sections;
            grown = true;
        } else {
            sections += u32::from(grown);
            grown = false;
            span[i].1 = sections - 1;
        }
    }
    span
}

fn twins(size: &[u64], span: &[(u32, u32)]) -> Vec<u32> {
    let key = |i: usize| (size[i], span[i]);
    let mut order: Vec<usize> = (0..size.len()).collect();
    order.sort_by_key(|&i| key(i));
    let mut twins = vec![0; size.len()];
    for pair in order.windows(2) {
        twins[pair[1]] = twins[pair[0]] + u32::from(key(pair[0]) != key(pair[1]));
    }
    twins
}
