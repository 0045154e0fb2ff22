//! The beginning of a sorted list, without sorting it.

use crate::vectorized::vectorized;
use crate::weights::{CHUNK, Chunk, padded};

/// Intervals of keys, of equal width.
const BUCKETS: usize = 1024;

/// Sums of a bucket that take turns, so that one addition does not wait for the one before it.
const TURNS: usize = 2;

/// Lists up to this length are sorted.
const SORTED: usize = 256;

/// Lanes of a search for the smallest and the largest key.
const LANES: usize = 16;

/// Where a list sorted by key, largest first and lower indices first among equals, is cut: the last
/// entry that stays.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Cut {
    pub(crate) key: f32,
    pub(crate) index: usize,
}

/// An entry of the list that may be the last one to stay.
#[derive(Debug, Clone, Copy)]
struct Entry {
    key: f32,
    index: u32,
    mass: f32,
}

/// The mass in each bucket.
type Masses = [[f64; TURNS]; BUCKETS];

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
        let scale = (BUCKETS - 1) as f32 / (high - low.max(high - span));
        if keys.len() > SORTED && scale.is_normal() {
            let by_key = ByKey { high, scale };
            self.buckets.fill([0.0; TURNS]);
            fill(keys, masses, by_key, &mut self.buckets);
            let (critical, before) = self.find(wanted);
            wanted -= before;
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

/// Buckets from the largest key down.
#[derive(Clone, Copy)]
struct ByKey {
    high: f32,
    scale: f32,
}

impl ByKey {
    /// The bucket of each key; a larger key is in none that comes later.
    #[inline(always)]
    fn of(self, keys: &Chunk) -> [u32; CHUNK] {
        const LAST: f32 = (BUCKETS - 1) as f32;
        // Adding 2^23 leaves the nearest whole number in the low bits.
        const ROUND: f32 = 8_388_608.0;
        let mut places = [0; CHUNK];
        for (to, &key) in places.iter_mut().zip(keys) {
            let place = (self.high - key) * self.scale;
            let place = if place < LAST { place } else { LAST };
            *to = (place + ROUND).to_bits() - ROUND.to_bits();
        }
        places
    }
}

vectorized! {
    /// Adds masses to the buckets of their keys.
    fn fill(keys: &[f32], masses: &[f32], by_key: ByKey, buckets: &mut Masses) {
        for (keys, masses) in keys.chunks(CHUNK).zip(masses.chunks(CHUNK)) {
            let places = by_key.of(&padded(keys));
            for (offset, (place, &mass)) in places.iter().zip(masses).enumerate() {
                // The places are within the buckets; the remainder tells the compiler.
                buckets[*place as usize % BUCKETS][offset % TURNS] += f64::from(mass);
            }
        }
    }
}

vectorized! {
    /// Appends the entries of one bucket.
    fn collect(keys: &[f32], masses: &[f32], by_key: ByKey, bucket: usize, entries: &mut Vec<Entry>) {
        for (i, (keys, masses)) in keys.chunks(CHUNK).zip(masses.chunks(CHUNK)).enumerate() {
            let places = by_key.of(&padded(keys));
            let mut any = false;
            for place in places {
                any |= place == bucket as u32;
            }
            if !any {
                continue;
            }
            for (offset, (&key, &mass)) in keys.iter().zip(masses).enumerate() {
                if places[offset] == bucket as u32 && key > f32::NEG_INFINITY {
                    entries.push(Entry { key, index: (i * CHUNK + offset) as u32, mass });
                }
            }
        }
    }
}

vectorized! {
    /// The smallest key above minus infinity, and the largest.
    fn range(keys: &[f32]) -> (f32, f32) {
        let mut low = [f32::INFINITY; LANES];
        let mut high = [f32::NEG_INFINITY; LANES];
        for keys in keys.chunks(CHUNK) {
            let keys = padded(keys);
            for group in 0..CHUNK / LANES {
                for lane in 0..LANES {
                    let key = keys[group * LANES + lane];
                    let bounded = if key > f32::NEG_INFINITY { key } else { f32::INFINITY };
                    low[lane] = if bounded < low[lane] { bounded } else { low[lane] };
                    high[lane] = if key > high[lane] { key } else { high[lane] };
                }
            }
        }
        let low = low.into_iter().fold(f32::INFINITY, f32::min);
        (low, high.into_iter().fold(f32::NEG_INFINITY, f32::max))
    }
}
