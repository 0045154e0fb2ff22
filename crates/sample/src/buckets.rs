//! Keys in intervals of equal width: passes over a long list, in vector code.

use crate::vectorized::vectorized;
use crate::weights::{CHUNK, Chunk, padded, sum};

/// Intervals of keys.
pub(crate) const BUCKETS: usize = 1024;

/// Sums of a bucket that take turns, so that one addition does not wait for the one before it.
pub(crate) const TURNS: usize = 2;

/// Lanes of a search for the smallest and the largest key.
const LANES: usize = 16;

/// The mass in each bucket.
pub(crate) type Masses = [[f64; TURNS]; BUCKETS];

/// An entry of the list that may be the last one to stay.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Entry {
    pub(crate) key: f32,
    pub(crate) index: u32,
    pub(crate) mass: f32,
}

/// Buckets from the largest key down.
#[derive(Clone, Copy)]
pub(crate) struct ByKey {
    /// The largest key.
    pub(crate) high: f32,
    /// Buckets a unit.
    pub(crate) scale: f32,
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
    pub(crate) fn fill(keys: &[f32], masses: &[f32], by_key: ByKey, buckets: &mut Masses) {
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
    pub(crate) fn collect(keys: &[f32], masses: &[f32], by_key: ByKey, bucket: usize, entries: &mut Vec<Entry>) {
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
    /// Which of the entries with one key is the last that it takes for the mass wanted; the last of all if
    /// there is less.
    pub(crate) fn last_of_equals(keys: &[f32], masses: &[f32], key: f32, wanted: f64) -> usize {
        // The chunk in which it lies, and the mass before that chunk.
        let mut last = (0, 0.0);
        let mut before = 0.0;
        for (i, (keys, masses)) in keys.chunks(CHUNK).zip(masses.chunks(CHUNK)).enumerate() {
            let mut of_equals = padded(masses);
            let mut any = false;
            for (mass, other) in of_equals.iter_mut().zip(padded(keys)) {
                *mass = if other == key { *mass } else { 0.0 };
                any |= other == key;
            }
            if !any {
                continue;
            }
            last = (i, before);
            before += sum(&of_equals);
            if before >= wanted {
                break;
            }
        }
        let (chunk, mut sum) = last;
        let mut index = 0;
        for place in (chunk * CHUNK..keys.len()).take(CHUNK).filter(|&place| keys[place] == key) {
            index = place;
            sum += f64::from(masses[place]);
            if sum >= wanted {
                break;
            }
        }
        index
    }
}

vectorized! {
    /// The smallest key above minus infinity, and the largest.
    pub(crate) fn range(keys: &[f32]) -> (f32, f32) {
        let mut range = Range::new();
        for keys in keys.chunks(CHUNK) {
            range.add(&padded(keys));
        }
        range.ends()
    }
}

vectorized! {
    /// [`range`] of the keys in one bucket.
    pub(crate) fn range_of_bucket(keys: &[f32], by_key: ByKey, bucket: usize) -> (f32, f32) {
        let mut range = Range::new();
        for keys in keys.chunks(CHUNK) {
            let mut keys = padded(keys);
            let places = by_key.of(&keys);
            for (key, place) in keys.iter_mut().zip(places) {
                *key = if place == bucket as u32 { *key } else { f32::NEG_INFINITY };
            }
            range.add(&keys);
        }
        range.ends()
    }
}

/// The smallest and the largest key of each lane.
struct Range {
    low: [f32; LANES],
    high: [f32; LANES],
}

impl Range {
    #[inline(always)]
    fn new() -> Range {
        Range { low: [f32::INFINITY; LANES], high: [f32::NEG_INFINITY; LANES] }
    }

    /// Minus infinity is no key.
    #[inline(always)]
    fn add(&mut self, keys: &Chunk) {
        for group in 0..CHUNK / LANES {
            for lane in 0..LANES {
                let key = keys[group * LANES + lane];
                let bounded = if key > f32::NEG_INFINITY { key } else { f32::INFINITY };
                self.low[lane] = if bounded < self.low[lane] { bounded } else { self.low[lane] };
                self.high[lane] = if key > self.high[lane] { key } else { self.high[lane] };
            }
        }
    }

    #[inline(always)]
    fn ends(&self) -> (f32, f32) {
        let low = self.low.into_iter().fold(f32::INFINITY, f32::min);
        (low, self.high.into_iter().fold(f32::NEG_INFINITY, f32::max))
    }
}
