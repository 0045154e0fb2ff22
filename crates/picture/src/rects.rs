//! Where the rectangles are.

use crate::data::Picture;

/// One value in the plane of steps and addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rect {
    /// Index in [`Picture::values`].
    pub value: usize,
    /// First step.
    pub from: usize,
    /// The step after the last one: less than the value's life says where another takes over its window.
    pub until: usize,
    /// Bytes from the start of the space.
    pub offset: u64,
    /// Size of the value; never 0.
    pub bytes: u64,
}

/// The rectangles of one space under one strategy, by value: one for each value that has bytes, an offset and a life
/// within the program. No two of them overlap if no two windows of the plan do.
pub fn rects(picture: &Picture, strategy: usize, space: usize) -> Vec<Rect> {
    let Some(strategy) = picture.strategies.get(strategy) else { return Vec::new() };
    let offset = |value: usize| strategy.offsets.get(value).copied().flatten();
    let mut ends: Vec<usize> = picture.values.iter().map(|v| v.last.saturating_add(1)).collect();
    for (i, value) in picture.values.iter().enumerate() {
        let Some(before) = value.in_place_of else { continue };
        let Some(old) = picture.values.get(before) else { continue };
        let same_window = old.space == value.space && offset(i).is_some() && offset(i) == offset(before);
        // A value that is there no earlier than its heir would have no life left to draw.
        if same_window && old.first < value.first {
            ends[before] = ends[before].min(value.first);
        }
    }
    let rect = |(i, value): (usize, &crate::data::Value)| {
        let drawn = value.space == space && value.bytes > 0 && value.first <= value.last;
        let within = value.last < picture.steps.len();
        let (from, until, bytes) = (value.first, ends[i], value.bytes);
        offset(i).filter(|_| drawn && within).map(|offset| Rect { value: i, from, until, offset, bytes })
    };
    picture.values.iter().enumerate().filter_map(rect).collect()
}
