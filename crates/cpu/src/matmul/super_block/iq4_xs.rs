//! IQ4_XS: nibbles that are indices of fixed numbers, 6-bit scales less 32 of eighths.

use std::array::from_fn;

use super::{SUPER, SuperBlock, UnpackedSuper};
use crate::matmul::block32::{IQ4, half_at};

pub(in crate::matmul) struct Iq4Xs;

impl SuperBlock<136> for Iq4Xs {
    const MINIMA: usize = 0;

    /// Of each eighth the first half is the low nibbles of 16 bytes. The upper two bits of the scales
    /// are the pairs of bits in two bytes, the lower four the nibbles of four.
    fn unpack(bytes: &[u8; 136]) -> UnpackedSuper {
        let number = |k: usize| {
            let (eighth, k) = (k / 32, k % 32);
            IQ4[usize::from(bytes[8 + 16 * eighth + k % 16] >> (4 * (k / 16)) & 15)]
        };
        let scale = |sub: usize| {
            let eighth = sub / 2;
            let low = bytes[4 + eighth / 2] >> (4 * (eighth % 2)) & 15;
            let high = bytes[2 + eighth / 4] >> (2 * (eighth % 4)) & 3;
            i16::from(low | high << 4) - 32
        };
        UnpackedSuper {
            q: from_fn::<i8, SUPER, _>(number),
            scale: from_fn(scale),
            min: [0; 16],
            d: half_at(bytes, 0),
            dmin: 0.0,
        }
    }
}
