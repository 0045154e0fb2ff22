//! The lower bound of a packing: the largest sum of live bytes at any step.

use crate::pack::Item;

/// The largest sum of live bytes, and the first step that has it.
pub(crate) struct Bound {
    pub bytes: u64,
    pub step: u32,
}

/// The bound of the given items. The sum of all sizes must fit in 64 bits.
pub(crate) fn lower_bound(items: impl Iterator<Item: Into<Item>>) -> Bound {
    let items: Vec<Item> = items.map(Into::into).collect();
    let mut begun: Vec<(u32, u64)> = items.iter().map(|item| (item.first, item.bytes)).collect();
    begun.sort_by_key(|&(step, _)| step);
    let mut ended: Vec<(u32, u64)> = items.iter().map(|item| (item.last, item.bytes)).collect();
    ended.sort_by_key(|&(step, _)| step);

    let mut bound = Bound { bytes: 0, step: 0 };
    let mut ended = ended.into_iter().peekable();
    let mut live = 0;
    for (step, bytes) in begun {
        while let Some((_, gone)) = ended.next_if(|&(last, _)| last < step) {
            live -= gone;
        }
        live += bytes;
        if live > bound.bytes {
            bound = Bound { bytes: live, step };
        }
    }
    bound
}
