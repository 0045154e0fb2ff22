//! The beginning of a sorted list, without sorting it.

use crate::buckets::{
    BUCKETS, ByKey, Entry, Masses, TURNS, collect, fill, last_of_equals, range, range_of_bucket,
};

/// Lists up to this length are sorted.
const SORTED: usize = 256;

/// Where a list sorted by key, largest first and lower indices first among equals, is cut: the last
/// entry that stays.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Cut {
    pub(crate) key: f32,
    pub(crate) index: usize,
}

/// Finds cuts in time linear in the list's length; the room that this takes is kept.
///
/// Mass is counted into buckets, by key; the bucket in which the cut lies is divided again, until few
/// entries or only equal keys are left. Masses must have sums that are exact in `f64`: then the cut is that
/// of the sorted list, to the last bit.
#[derive(Debug, Clone)]
pub(crate) struct Selector {
    buckets: Box<Masses>,
    entries: Vec<Entry>,
}

impl Selector {
    pub(crate) fn new() -> Selector {
        Selector { buckets: Box::new([[0.0; TURNS]; BUCKETS]), entries: Vec::new() }
    }

    /// Makes room for lists of this length.
    pub(crate) fn reserve(&mut self, count: usize) {
        self.entries.clear();
        self.entries.reserve(count);
    }

    /// Where to cut so that the shortest beginning of the sorted list, of one entry at least, is left which
    /// has the mass `wanted`; at the end if there is none.
    ///
    /// Keys are no NaN, and one at least is above minus infinity; entries with that key are none. Keys
    /// `span` below the largest have no mass.
    pub(crate) fn cut(&mut self, keys: &[f32], masses: &[f32], span: f32, mut wanted: f64) -> Cut {
        self.entries.clear();
        let (low, high) = range(keys);
        assert!(low <= high, "a list without entries");
        if low == high {
            return Cut { key: low, index: last_of_equals(keys, masses, low, wanted) };
        }
        let scale = (BUCKETS - 1) as f32 / (high - low.max(high - span));
        if keys.len() > SORTED && scale.is_normal() {
            let by_key = ByKey { high, scale };
            self.buckets.fill([0.0; TURNS]);
            fill(keys, masses, by_key, &mut self.buckets);
            let (critical, before) = self.find(wanted);
            wanted -= before;
            // Many equals would make a long list of entries, for nothing.
            let (low, high) = range_of_bucket(keys, by_key, critical);
            if low == high {
                return Cut { key: low, index: last_of_equals(keys, masses, low, wanted) };
            }
            collect(keys, masses, by_key, critical, &mut self.entries);
        } else {
            let entries = (0..).zip(keys).zip(masses).filter(|((_, key), _)| **key > f32::NEG_INFINITY);
            self.entries.extend(entries.map(|((index, &key), &mass)| Entry { key, index, mass }));
        }
        self.last_within(wanted)
    }

    /// The bucket with the cut, and the mass in the buckets before it.
    fn find(&self, wanted: f64) -> (usize, f64) {
        let mut before = 0.0;
        for (i, bucket) in self.buckets.iter().enumerate() {
            let after = before + bucket.iter().sum::<f64>();
            // The last one if there is less than wanted.
            if after >= wanted || i == BUCKETS - 1 {
                return (i, before);
            }
            before = after;
        }
        unreachable!("there is a last bucket");
    }

    /// The last of the entries that it takes for the mass wanted; the entries lie by index.
    fn last_within(&mut self, mut wanted: f64) -> Cut {
        let mut is_level = false;
        while self.entries.len() > SORTED && !is_level {
            let (low, high) = self.range();
            is_level = low == high;
            if !is_level {
                wanted -= self.narrow(low.into(), high.into(), wanted);
            }
        }
        // Equal keys lie in their order already.
        if !is_level {
            self.entries.sort_unstable_by(|a, b| {
                let by_key = b.key.partial_cmp(&a.key).expect("keys are no NaN");
                by_key.then(a.index.cmp(&b.index))
            });
        }
        let mut sum = 0.0;
        let mut entries = self.entries.iter();
        let last = entries.find(|entry| {
            sum += f64::from(entry.mass);
            sum >= wanted
        });
        let last = last.or(self.entries.last()).expect("the bucket of the cut has entries");
        Cut { key: last.key, index: last.index as usize }
    }

    fn range(&self) -> (f32, f32) {
        let (mut low, mut high) = (f32::INFINITY, f32::NEG_INFINITY);
        for entry in &self.entries {
            low = if entry.key < low { entry.key } else { low };
            high = if entry.key > high { entry.key } else { high };
        }
        (low, high)
    }

    /// Leaves the entries of the bucket with the cut; the mass before them. In `f64`, where neither the
    /// distance of the keys nor its inverse overflows: the largest key is in the first bucket and the
    /// smallest in the last, so that fewer are left.
    fn narrow(&mut self, low: f64, high: f64, wanted: f64) -> f64 {
        let scale = (BUCKETS - 1) as f64 / (high - low);
        let place = |entry: &Entry| ((high - f64::from(entry.key)) * scale + 0.5) as usize;
        self.buckets.fill([0.0; TURNS]);
        for (i, entry) in self.entries.iter().enumerate() {
            self.buckets[place(entry)][i % TURNS] += f64::from(entry.mass);
        }
        let (critical, before) = self.find(wanted);
        self.entries.retain(|entry| place(entry) == critical);
        before
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_with_less_mass_than_wanted_is_cut_at_its_end() {
        let is_entry = |place: usize| place.is_multiple_of(2) && place < 700;
        let masses: Vec<f32> = (0..1000).map(|place| f32::from(is_entry(place))).collect();
        for kind in 0..3usize {
            let key = |place: usize| [1.0, (place % 5) as f32, 700.0 - place as f32][kind];
            let keys: Vec<f32> =
                (0..1000).map(|place| if is_entry(place) { key(place) } else { f32::NEG_INFINITY }).collect();
            for wanted in [350.0, 350.5, 360.0, 400.0, 1e9] {
                let cut = Selector::new().cut(&keys, &masses, f32::INFINITY, wanted);
                let least =
                    keys.iter().copied().filter(|&key| key > f32::NEG_INFINITY).fold(f32::INFINITY, f32::min);
                let last = keys.iter().rposition(|&key| key == least).unwrap();
                assert_eq!(cut, Cut { key: least, index: last }, "kind {kind}, {wanted} wanted");
            }
        }
    }
}
