//! Random numbers, comparisons and the tiers under test.

use cpu::isa::Isa;

/// The tiers of this machine other than the scalar one.
pub fn vector_tiers() -> impl Iterator<Item = Isa> {
    Isa::ALL.into_iter().filter(|isa| *isa != Isa::Scalar).filter(|isa| match isa.is_available() {
        Ok(()) => true,
        Err(reason) => {
            eprintln!("skipped {isa}: {reason}");
            false
        }
    })
}

/// A small generator, the same numbers in every run.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Random {
        Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub fn bits(&mut self) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 32) as u32
    }

    /// From 0 to `end - 1`.
    pub fn below(&mut self, end: usize) -> usize {
        self.bits() as usize % end
    }

    /// From `-size` to `size`.
    pub fn float(&mut self, size: f32) -> f32 {
        (self.bits() as f32 / u32::MAX as f32 * 2.0 - 1.0) * size
    }

    pub fn floats(&mut self, n: usize, size: f32) -> Vec<f32> {
        (0..n).map(|_| self.float(size)).collect()
    }
}

/// Equal bits, or both NaN.
pub fn same(a: f32, b: f32) -> bool {
    a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan())
}

#[track_caller]
pub fn assert_same(a: &[f32], b: &[f32], what: &str) {
    assert_eq!(a.len(), b.len(), "{what}");
    for (i, (a, b)) in a.iter().zip(b).enumerate() {
        assert!(same(*a, *b), "{what}: element {i}: {a:e} and {b:e}");
    }
}

#[track_caller]
pub fn assert_near(a: &[f32], b: &[f32], tolerance: f32, what: &str) {
    assert_eq!(a.len(), b.len(), "{what}");
    for (i, (a, b)) in a.iter().zip(b).enumerate() {
        let near = (a - b).abs() <= tolerance * b.abs().max(1.0);
        assert!(near, "{what}: element {i}: {a:e} and {b:e}");
    }
}

/// Bits worth a look: limits of every kind, and their neighbours.
pub fn special_floats() -> Vec<f32> {
    let mut all = Vec::new();
    for positive in [
        0.0,
        f32::from_bits(1),
        f32::from_bits(0x007f_ffff),
        f32::MIN_POSITIVE,
        1e-30,
        2f32.powi(-25),
        2f32.powi(-24),
        2f32.powi(-14),
        f32::EPSILON,
        0.5,
        1.0,
        127.5,
        87.0,
        88.72,
        89.0,
        103.97,
        104.0,
        65_503.9,
        65_504.0,
        65_519.996,
        65_520.0,
        7e4,
        1e30,
        f32::MAX,
        f32::INFINITY,
        f32::NAN,
    ] {
        let bits = f32::to_bits(positive);
        for near in [bits.saturating_sub(1), bits, bits.saturating_add(1)] {
            all.extend([f32::from_bits(near), -f32::from_bits(near)]);
        }
    }
    all
}
