//! Quick placements, one life after another, in an order that is a guess.

use std::cmp::Reverse;

use crate::pack::baseline::{best_fit, tight_buffers};
use crate::pack::sections::spans;
use crate::pack::{Item, Layout, Method};

/// Orders that are repaired get this many tries each; those that succeed on graphs of models need up to five.
const REPAIRS: usize = 16;

/// Tries one greedy placement after another and returns the best, the first of equals; stops at one that needs no more
/// than `bound`.
pub(super) fn portfolio(items: &[Item], align: u64, bound: u64) -> (Layout, Method) {
    let life = |i: usize| u64::from(items[i].last - items[i].first) + 1;
    let area = |i: usize| u128::from(items[i].bytes) * u128::from(life(i));
    let by_size = || sorted(items, |i| (Reverse(items[i].bytes), items[i].first));
    let by_area = || sorted(items, |i| (Reverse(area(i)), items[i].first));
    let by_life = || sorted(items, |i| (Reverse(life(i)), Reverse(items[i].bytes)));
    let by_time = || sorted(items, |i| (items[i].first, Reverse(items[i].bytes)));
    let by_end = || sorted(items, |i| (Reverse(items[i].last), Reverse(life(i)), Reverse(items[i].bytes)));
    let by_crowd = || {
        let crowd = crowds(items);
        sorted(items, |i| (Reverse(crowd[i]), Reverse(items[i].bytes), items[i].first))
    };

    let mut best = (first_fit(items, &by_size()), Method::BySize);
    let further: [(Method, &dyn Fn() -> Option<Layout>); 9] = [
        (Method::ByArea, &|| Some(first_fit(items, &by_area()))),
        (Method::ByCrowd, &|| Some(first_fit(items, &by_crowd()))),
        (Method::Skyline, &|| Some(skyline(items))),
        (Method::ByTime, &|| Some(first_fit(items, &by_time()))),
        (Method::ByLife, &|| Some(first_fit(items, &by_life()))),
        // Greedy orders promise nothing; with these two a packed plan is never worse than the baselines.
        (Method::BestFit, &|| Some(best_fit(items))),
        (Method::Buffers, &|| tight_buffers(items, align)),
        (Method::RepairedCrowd, &|| Some(repaired(items, by_crowd(), bound))),
        (Method::RepairedEnd, &|| Some(repaired(items, by_end(), bound))),
    ];
    for (method, place) in further {
        if best.0.bytes <= bound {
            break;
        }
        if let Some(layout) = place().filter(|layout| layout.bytes < best.0.bytes) {
            best = (layout, method);
        }
    }
    best
}

/// For each item the largest sum of live bytes at a step of its life.
fn crowds(items: &[Item]) -> Vec<u64> {
    let span = spans(items);
    let mut load = vec![0; span.iter().map(|span| span.1 as usize + 1).max().unwrap_or(0)];
    for (item, &(first, last)) in items.iter().zip(&span) {
        load[first as usize..=last as usize].iter_mut().for_each(|load| *load += item.bytes);
    }
    let crowd = |&(first, last): &(u32, u32)| load[first as usize..=last as usize].iter().copied().max();
    span.iter().map(|span| crowd(span).unwrap_or(0)).collect()
}

/// Tries an order; as long as it needs more than `bound`, lets each item that reaches beyond it go before the
/// last one that was in its way, and tries again.
fn repaired(items: &[Item], mut order: Vec<usize>, bound: u64) -> Layout {
    let mut best = first_fit(items, &order);
    let mut offsets = best.offsets.clone();
    for _ in 1..REPAIRS {
        let beyond: Vec<usize> =
            order.iter().copied().filter(|&i| offsets[i] + items[i].bytes > bound).collect();
        if beyond.is_empty() {
            break;
        }
        for i in beyond {
            let at = order.iter().position(|&j| j == i).expect("every item is in the order");
            if let Some(before) = order[..at].iter().rposition(|&j| items[j].meets(&items[i])) {
                order[before..=at].rotate_right(1);
            }
        }
        let layout = first_fit(items, &order);
        offsets.clone_from(&layout.offsets);
        if layout.bytes < best.bytes {
            best = layout;
        }
    }
    best
}

/// The indices of all items by a key, equal keys by index.
fn sorted<K: Ord>(items: &[Item], key: impl Fn(usize) -> K) -> Vec<usize> {
    let mut order: Vec<usize> = (0..items.len()).collect();
    order.sort_by_cached_key(|&i| key(i));
    order
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

/// Builds from below: the next is always the one that can lie lowest on top of what is there, of equals the one that lives
/// longest. No gap below is ever filled later.
fn skyline(items: &[Item]) -> Layout {
    let mut layout = Layout { offsets: vec![0; items.len()], bytes: 0 };
    let mut waiting = sorted(items, |i| (Reverse(items[i].last - items[i].first), Reverse(items[i].bytes)));
    while let Some(at) = (0..waiting.len()).min_by_key(|&at| layout.offsets[waiting[at]]) {
        let i = waiting.remove(at);
        let end = layout.offsets[i] + items[i].bytes;
        layout.bytes = layout.bytes.max(end);
        for &j in &waiting {
            if items[j].meets(&items[i]) {
                layout.offsets[j] = layout.offsets[j].max(end);
            }
        }
    }
    layout
}
