//! Stored weights in blocks of 32, in portable code: the numbers that a block holds.

use half::f16;

/// Elements in a block.
pub(super) const BLOCK: usize = 32;

/// A block of 32 weights with the value `q * scale + min`.
pub(super) struct Unpacked {
    pub q: [i8; BLOCK],
    pub scale: f32,
    /// 0 in types without minima.
    pub min: f32,
}

/// A type of weights in blocks of 32 of `BYTES` bytes.
pub(super) trait Block<const BYTES: usize> {
    /// Whether blocks have minima.
    const MINIMA: bool;

    fn unpack(bytes: &[u8; BYTES]) -> Unpacked;
}

pub(super) struct Q4_0;
pub(super) struct Q4_1;
pub(super) struct Q5_0;
pub(super) struct Q5_1;
pub(super) struct Q8_0;
pub(super) struct Iq4Nl;

impl Block<18> for Q4_0 {
    const MINIMA: bool = false;

    fn unpack(bytes: &[u8; 18]) -> Unpacked {
        Unpacked { q: nibbles(&bytes[2..]).map(|q| q - 8), scale: half_at(bytes, 0), min: 0.0 }
    }
}

impl Block<20> for Q4_1 {
    const MINIMA: bool = true;

    fn unpack(bytes: &[u8; 20]) -> Unpacked {
        Unpacked { q: nibbles(&bytes[4..]), scale: half_at(bytes, 0), min: half_at(bytes, 2) }
    }
}

impl Block<22> for Q5_0 {
    const MINIMA: bool = false;

    fn unpack(bytes: &[u8; 22]) -> Unpacked {
        Unpacked { q: fives(&bytes[2..]).map(|q| q - 16), scale: half_at(bytes, 0), min: 0.0 }
    }
}

impl Block<24> for Q5_1 {
    const MINIMA: bool = true;

    fn unpack(bytes: &[u8; 24]) -> Unpacked {
        Unpacked { q: fives(&bytes[4..]), scale: half_at(bytes, 0), min: half_at(bytes, 2) }
    }
}

impl Block<34> for Q8_0 {
    const MINIMA: bool = false;

    fn unpack(bytes: &[u8; 34]) -> Unpacked {
        Unpacked { q: std::array::from_fn(|i| bytes[2 + i] as i8), scale: half_at(bytes, 0), min: 0.0 }
    }
}

impl Block<18> for Iq4Nl {
    const MINIMA: bool = false;

    fn unpack(bytes: &[u8; 18]) -> Unpacked {
        let q = nibbles(&bytes[2..]).map(|index| IQ4[index as usize]);
        Unpacked { q, scale: half_at(bytes, 0), min: 0.0 }
    }
}

/// The numbers that nibbles of the IQ4 types stand for.
pub(super) const IQ4: [i8; 16] = [-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113];

/// Low nibbles are elements 0 to 15, high nibbles 16 to 31.
pub(super) fn nibbles(bytes: &[u8]) -> [i8; BLOCK] {
    std::array::from_fn(|i| (bytes[i % 16] >> (i / 16 * 4) & 15) as i8)
}

/// 5-bit numbers: the fifth bits of 32 elements in four bytes, then nibbles.
fn fives(bytes: &[u8]) -> [i8; BLOCK] {
    let low = nibbles(&bytes[4..]);
    std::array::from_fn(|i| low[i] | ((bytes[i / 8] >> (i % 8) & 1) << 4) as i8)
}

/// The half-precision number at that byte.
pub(super) fn half_at(bytes: &[u8], at: usize) -> f32 {
    f16::from_le_bytes([bytes[at], bytes[at + 1]]).to_f32()
}
