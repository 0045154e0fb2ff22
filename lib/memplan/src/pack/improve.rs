//! What is done when no greedy placement reaches the bound: the problem is cut into parts, and each is searched.

use crate::bound::Bound;
use crate::pack::climb::climb;
use crate::pack::greedy::portfolio;
use crate::pack::sections::{Board, spans};
use crate::pack::{Item, Layout, Method, Packed};

/// The table of who lives in which section has at most this many entries; parts that need more are not searched.
const ENTRIES_MAX: usize = 1 << 20;
/// A trial in a part of up to this many lives is one node of the budget.
const LIVES_A_NODE: u64 = 512;

/// Lives that have nothing to do with others, above `base`.
struct Part {
    base: u64,
    lives: Vec<usize>,
}

/// Searches a packing better than `known`, with `budget` nodes for all parts together.
pub(super) fn improve(items: &[Item], align: u64, bound: &Bound, known: Packed, budget: u64) -> Packed {
    let (mut offsets, parts) = parts(items);
    let mut packed = Packed { bytes_min: bound.bytes, ..known };
    // No part has to be lower than the others.
    let mut bytes = bound.bytes;
    let mut budget_left = budget;
    for (p, part) in parts.iter().enumerate() {
        let here: Vec<Item> = part.lives.iter().map(|&i| items[i]).collect();
        let target = bytes - part.base;
        let mut layout = if here.len() == items.len() {
            Layout::of(&here, part.lives.iter().map(|&i| packed.layout.offsets[i]).collect())
        } else {
            portfolio(&here, align, target).0
        };
        if layout.bytes > target
            && let Some(board) = Board::new(&here, ENTRIES_MAX)
        {
            let known = layout.bytes.min(packed.layout.bytes - part.base);
            let weight = 1 + here.len() as u64 / LIVES_A_NODE;
            let share = budget_left / (parts.len() - p) as u64 / weight;
            let mut nodes = 0;
            let improved = climb(&board, target, known, share, &mut nodes);
            budget_left -= nodes * weight;
            packed.nodes += nodes;
            packed.bytes_min = packed.bytes_min.max(part.base + improved.bytes_min);
            if let Some(offsets) = improved.offsets {
                layout = Layout::of(&here, offsets);
            }
        }
        for (&i, offset) in part.lives.iter().zip(&layout.offsets) {
            offsets[i] = part.base + offset;
        }
        bytes = bytes.max(part.base + layout.bytes);
        if bytes >= packed.layout.bytes {
            break;
        }
    }
    if bytes < packed.layout.bytes {
        packed.layout = Layout { offsets, bytes };
        packed.method = Method::Search;
    }
    packed
}

/// Cuts the items into parts that share no step. In each part, whatever lives through all of it goes to the bottom
/// (in any packing it can change places with what is below it), and the rest may fall apart again. Returns the offsets of
/// what is placed by that, 0 for the others. Items without bytes are in no part.
fn parts(items: &[Item]) -> (Vec<u64>, Vec<Part>) {
    let mut offsets = vec![0; items.len()];
    let mut parts = Vec::new();
    let mut lives: Vec<usize> = (0..items.len()).filter(|&i| items[i].bytes > 0).collect();
    lives.sort_by_key(|&i| items[i].first);
    let mut pending = vec![Part { base: 0, lives }];
    while let Some(Part { mut base, lives }) = pending.pop() {
        let mut groups = apart(items, &lives);
        if groups.len() > 1 {
            pending.extend(groups.into_iter().rev().map(|lives| Part { base, lives }));
            continue;
        }
        let Some(group) = groups.pop() else { continue };
        let here: Vec<Item> = group.iter().map(|&i| items[i]).collect();
        let span = spans(&here);
        let last = span.iter().map(|span| span.1).max().unwrap_or(0);
        let mut rest = Vec::with_capacity(group.len());
        for (&i, &span) in group.iter().zip(&span) {
            if span == (0, last) {
                offsets[i] = base;
                base += items[i].bytes;
            } else {
                rest.push(i);
            }
        }
        if rest.len() < group.len() {
            pending.push(Part { base, lives: rest });
        } else {
            parts.push(Part { base, lives: group });
        }
    }
    (offsets, parts)
}

/// Splits lives, sorted by their first step, where none of them lives on.
fn apart(items: &[Item], lives: &[usize]) -> Vec<Vec<usize>> {
    let mut groups: Vec<Vec<usize>> = Vec::new();
    let mut last = 0;
    for &i in lives {
        match groups.last_mut() {
            Some(group) if items[i].first <= last => group.push(i),
            _ => groups.push(vec![i]),
        }
        last = last.max(items[i].last);
    }
    groups
}
