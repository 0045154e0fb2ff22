//! A free list of exact size classes: the baseline that recycles whole buffers.

use std::collections::BTreeMap;

use crate::pack::Item;

const LARGEST_POWER: u64 = 16 << 10;

/// The class of a size: a power of two up to 16 KiB, then a multiple of 16 KiB, and always a multiple of `align`.
/// `None` when it does not fit in 64 bits.
pub(crate) fn class_bytes(bytes: u64, align: u64) -> Option<u64> {
    let class = if bytes <= LARGEST_POWER {
        bytes.next_power_of_two()
    } else {
        bytes.checked_next_multiple_of(LARGEST_POWER)?
    };
    class.checked_next_multiple_of(align)
}

/// Buffers, each used by one item after another.
pub(crate) struct Buffers {
    /// The buffer of each item.
    pub of_item: Vec<usize>,
    /// The class of each buffer, in bytes; buffers are numbered in the order in which they are first needed.
    pub class: Vec<u64>,
}

/// Walks the items in order of their first step. An item takes the buffer of its class that became free last, and gives it
/// back after its last step. `classes` are the classes of the items.
pub(crate) fn recycle(items: &[Item], classes: &[u64]) -> Buffers {
    let mut by_first: Vec<usize> = (0..items.len()).collect();
    by_first.sort_by_key(|&i| items[i].first);
    let mut by_last: Vec<usize> = (0..items.len()).collect();
    by_last.sort_by_key(|&i| items[i].last);

    let mut buffers = Buffers { of_item: vec![0; items.len()], class: Vec::new() };
    let mut free: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
    let mut ended = by_last.into_iter().peekable();
    for i in by_first {
        while let Some(done) = ended.next_if(|&done| items[done].last < items[i].first) {
            free.entry(classes[done]).or_default().push(buffers.of_item[done]);
        }
        let recycled = free.get_mut(&classes[i]).and_then(Vec::pop);
        buffers.of_item[i] = recycled.unwrap_or_else(|| {
            buffers.class.push(classes[i]);
            buffers.class.len() - 1
        });
    }
    buffers
}
