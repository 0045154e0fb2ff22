//! The lower bound of a space: the largest sum of live bytes at any step.

use crate::storages::Draft;

/// The largest sum of live bytes, and the first step that has it.
pub(crate) struct Bound {
    pub bytes: u64,
    pub step: u32,
}

/// The bound over the given storages of one space, in a program whose last step is `end`. The sum of all sizes must fit
/// in 64 bits.
pub(crate) fn lower_bound<'a>(storages: impl Iterator<Item = &'a Draft>, end: u32) -> Bound {
    let mut begun = vec![0u64; end as usize + 1];
    let mut ended = vec![0u64; end as usize + 1];
    for storage in storages {
        begun[storage.first as usize] += storage.bytes;
        ended[storage.last as usize] += storage.bytes;
    }
    let mut bound = Bound { bytes: 0, step: 0 };
    let mut live = 0;
    for step in 0..=end {
        live += begun[step as usize];
        if live > bound.bytes {
            bound = Bound { bytes: live, step };
        }
        live -= ended[step as usize];
    }
    bound
}
