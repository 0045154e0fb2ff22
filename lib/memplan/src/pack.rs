//! Places storages at offsets so that no two that live at the same step overlap.

use std::cmp::Reverse;

use crate::size_class::{class_bytes, recycle};

/// A storage as packing sees it.
#[derive(Clone, Copy)]
pub(crate) struct Item {
    /// Size, already a multiple of the alignment.
    pub bytes: u64,
    /// First and last step, inclusive.
    pub first: u32,
    pub last: u32,
}

/// An offset for each item, and the bytes needed in all.
pub(crate) struct Layout {
    pub offsets: Vec<u64>,
    pub bytes: u64,
}

/// One window after another, shared by nobody.
pub(crate) fn side_by_side(items: &[Item]) -> Layout {
    stack(items.iter().map(|item| item.bytes))
}

fn stack(sizes: impl Iterator<Item = u64>) -> Layout {
    let mut layout = Layout { offsets: Vec::new(), bytes: 0 };
    for size in sizes {
        layout.offsets.push(layout.bytes);
        layout.bytes += size;
    }
    layout
}

/// One buffer after another, each as large as its class; `None` when they do not add up within 64 bits.
pub(crate) fn by_class(items: &[Item], align: u64) -> Option<Layout> {
    let buffers = recycle(items, &classes(items, align)?);
    buffers.class.iter().try_fold(0u64, |sum, &class| sum.checked_add(class))?;
    Some(lay_out_buffers(&buffers.of_item, &buffers.class))
}

/// Orders that are repaired get this many tries each; those that succeed on graphs of models need up to five.
const REPAIRS: usize = 16;

/// First fit over several orders, then over repaired ones; stops at the first that needs no more than `bound`.
pub(crate) fn packed(items: &[Item], align: u64, bound: u64) -> Layout {
    let life = |i: usize| u64::from(items[i].last - items[i].first) + 1;
    let area = |i: usize| u128::from(items[i].bytes) * u128::from(life(i));
    let by_size = || sorted(items, |i| (Reverse(items[i].bytes), items[i].first));
    let by_area = || sorted(items, |i| (Reverse(area(i)), items[i].first));
    let by_life = || sorted(items, |i| (Reverse(life(i)), Reverse(items[i].bytes)));
    let by_time = || sorted(items, |i| (items[i].first, Reverse(items[i].bytes)));

    let mut best = first_fit(items, &by_size());
    let further: [&dyn Fn() -> Option<Layout>; 4] = [
        &|| Some(first_fit(items, &by_area())),
        &|| Some(first_fit(items, &by_life())),
        &|| Some(first_fit(items, &by_time())),
        // Greedy orders promise nothing; with this one a packed plan is never worse than the baseline.
        &|| tight_buffers(items, align),
    ];
    for attempt in further {
        if best.bytes <= bound {
            break;
        }
        if let Some(layout) = attempt().filter(|layout| layout.bytes < best.bytes) {
            best = layout;
        }
    }
    let by_end = || sorted(items, |i| (Reverse(items[i].last), Reverse(life(i)), Reverse(items[i].bytes)));
    let crowd = crowds(items);
    let by_crowd = || sorted(items, |i| (Reverse(crowd[i]), Reverse(items[i].bytes), items[i].first));
    let starts: [&dyn Fn() -> Vec<usize>; 2] = [&by_crowd, &by_end];
    for start in starts {
        if best.bytes <= bound {
            break;
        }
        best = repaired(items, start(), bound, best);
    }
    best
}

/// For each item the largest sum of live bytes at a step of its life.
fn crowds(items: &[Item]) -> Vec<u64> {
    let steps = items.iter().map(|item| item.last as usize + 1).max().unwrap_or(0);
    let mut live = vec![0; steps];
    for item in items {
        live[item.first as usize..=item.last as usize].iter_mut().for_each(|sum| *sum += item.bytes);
    }
    let crowd = |item: &Item| live[item.first as usize..=item.last as usize].iter().copied().max();
    items.iter().map(|item| crowd(item).unwrap_or(0)).collect()
}

/// Tries an order; as long as it needs more than `bound`, lets each item that reaches beyond it go before the
/// last one that was in its way, and tries again.
fn repaired(items: &[Item], mut order: Vec<usize>, bound: u64, mut best: Layout) -> Layout {
    for _ in 0..REPAIRS {
        let layout = first_fit(items, &order);
        let beyond: Vec<usize> =
            order.iter().copied().filter(|&i| layout.offsets[i] + items[i].bytes > bound).collect();
        if layout.bytes < best.bytes {
            best = layout;
        }
        if beyond.is_empty() {
            break;
        }
        for i in beyond {
            let meets = |&j: &usize| items[j].first <= items[i].last && items[i].first <= items[j].last;
            let at = order.iter().position(|&j| j == i).expect("every item is in the order");
            if let Some(before) = order[..at].iter().rposition(meets) {
                order[before..=at].rotate_right(1);
            }
        }
    }
    best
}

/// The indices of all items by a key, equal keys by index.
fn sorted<K: Ord>(items: &[Item], key: impl Fn(usize) -> K) -> Vec<usize> {
    let mut order: Vec<usize> = (0..items.len()).collect();
    order.sort_by_key(|&i| key(i));
    order
}

fn classes(items: &[Item], align: u64) -> Option<Vec<u64>> {
    items.iter().map(|item| class_bytes(item.bytes, align)).collect()
}

/// The buffers of the size classes, each only as large as the largest item that uses it.
fn tight_buffers(items: &[Item], align: u64) -> Option<Layout> {
    let buffers = recycle(items, &classes(items, align)?);
    let mut sizes = vec![0; buffers.class.len()];
    for (item, &buffer) in items.iter().zip(&buffers.of_item) {
        sizes[buffer] = item.bytes.max(sizes[buffer]);
    }
    Some(lay_out_buffers(&buffers.of_item, &sizes))
}

fn lay_out_buffers(of_item: &[usize], sizes: &[u64]) -> Layout {
    let Layout { offsets, bytes } = stack(sizes.iter().copied());
    Layout { offsets: of_item.iter().map(|&buffer| offsets[buffer]).collect(), bytes }
}

/// An item that has its place.
#[derive(Clone, Copy)]
struct Placed {
    start: u64,
    end: u64,
    first: u32,
    last: u32,
}

/// Places the items in the given order, each at the lowest offset where it overlaps nothing that lives at the same time.
fn first_fit(items: &[Item], order: &[usize]) -> Layout {
    let mut layout = Layout { offsets: vec![0; items.len()], bytes: 0 };
    // Sorted by start, so that one walk finds the lowest gap.
    let mut placed: Vec<Placed> = Vec::with_capacity(items.len());
    for &i in order {
        let item = items[i];
        let mut start = 0;
        for other in &placed {
            // Everything from here on starts behind the gap, whether it lives at the same time or not.
            if other.start >= start + item.bytes {
                break;
            }
            if other.first <= item.last && item.first <= other.last {
                start = start.max(other.end);
            }
        }
        let end = start + item.bytes;
        layout.offsets[i] = start;
        layout.bytes = layout.bytes.max(end);
        let at = placed.partition_point(|other| other.start <= start);
        placed.insert(at, Placed { start, end, first: item.first, last: item.last });
    }
    layout
}
