//! Which kind of operation has which colour.

use std::collections::BTreeMap;

use crate::data::Picture;

/// What each kind is drawn with: `k0`, `k1`, ... by how much of the plane it fills, `in` and `tmp` for inputs and
/// scratch, `rest` for those that the palette does not reach.
pub(crate) struct Kinds {
    /// Name and class, in the order of the legend.
    pub legend: Vec<(String, &'static str)>,
    index: BTreeMap<String, usize>,
}

/// Colours of a class in light and in dark surroundings.
pub(crate) const COLOURS: [(&str, &str, &str); 15] = [
    ("k0", "#4b86dc", "#6093de"),
    ("k1", "#f29a43", "#e99e58"),
    ("k2", "#02a671", "#36aa7a"),
    ("k3", "#d66363", "#d4716f"),
    ("k4", "#8863c2", "#9273c6"),
    ("k5", "#17bac8", "#0dc1d0"),
    ("k6", "#bdbf41", "#bcbe59"),
    ("k7", "#dc76b3", "#d57db0"),
    ("k8", "#a2a8ff", "#a9b0fd"),
    ("k9", "#89d479", "#92d284"),
    ("k10", "#ab441b", "#b05737"),
    ("k11", "#006d91", "#0b79a0"),
    ("in", "#7b8798", "#8591a3"),
    ("tmp", "#b3a58c", "#8f836d"),
    ("rest", "#a9adb5", "#6d727b"),
];
/// How many kinds get a colour of their own.
const OWN: usize = 12;

impl Kinds {
    /// The kinds of a picture's values.
    pub fn of(picture: &Picture) -> Self {
        let mut area: BTreeMap<&str, u128> = BTreeMap::new();
        for value in &picture.values {
            let steps = value.last.saturating_sub(value.first).saturating_add(1);
            let sum = area.entry(&value.kind).or_default();
            *sum = sum.saturating_add(u128::from(value.bytes) * steps as u128);
        }
        let mut order: Vec<(&str, u128)> = area.into_iter().collect();
        // Names decide between equals, as the map is sorted by them.
        order.sort_by_key(|&(kind, area)| (apart(kind).is_some(), std::cmp::Reverse(area)));
        let class = |(i, &(kind, _)): (usize, &(&str, u128))| {
            let own = if i < OWN { COLOURS[i].0 } else { "rest" };
            (kind.to_owned(), apart(kind).unwrap_or(own))
        };
        let legend: Vec<(String, &'static str)> = order.iter().enumerate().map(class).collect();
        let index = legend.iter().enumerate().map(|(i, (kind, _))| (kind.clone(), i)).collect();
        Self { legend, index }
    }

    /// Index of a kind in the legend.
    pub fn index(&self, kind: &str) -> Option<usize> {
        self.index.get(kind).copied()
    }

    /// Class of a kind.
    pub fn class(&self, kind: &str) -> &'static str {
        self.index(kind).map_or("rest", |i| self.legend[i].1)
    }
}

/// The class of what is not made by an operation.
fn apart(kind: &str) -> Option<&'static str> {
    match kind {
        "input" => Some("in"),
        "scratch" => Some("tmp"),
        _ => None,
    }
}

/// Declarations of the colours as custom properties, light first: `--k0:#...;`.
pub(crate) fn properties() -> (String, String) {
    let all = |pick: fn(&(&str, &str, &str)) -> String| COLOURS.iter().map(pick).collect();
    (
        all(|(class, light, _)| format!("--{class}:{light};")),
        all(|(class, _, dark)| format!("--{class}:{dark};")),
    )
}
