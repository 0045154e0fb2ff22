//! Q3_K: 3-bit numbers less 4, 6-bit scales less 32 of sixteenths.

use std::array::from_fn;

use super::q2_k::twos;
use super::{SUPER, SuperBlock, UnpackedSuper};
use crate::matmul::block32::half_at;

pub(in crate::matmul) struct Q3K;

impl SuperBlock<110> for Q3K {
    const MINIMA: usize = 0;

    /// The third bits of each eighth of the elements are a bit in 32 bytes. Of the scales, 16 low
    /// nibbles are the nibbles of 8 bytes; of 4 bytes, each pair of bits is the upper two of four scales.
    fn unpack(bytes: &[u8; 110]) -> UnpackedSuper {
        let third = |k: usize| (bytes[k % 32] >> (k / 32) & 1) as i8;
        let scale = |sub: usize| {
            let low = bytes[96 + sub % 8] >> (4 * (sub / 8)) & 15;
            let high = bytes[104 + sub % 4] >> (2 * (sub / 4)) & 3;
            i16::from(low | high << 4) - 32
        };
        UnpackedSuper {
            q: from_fn::<i8, SUPER, _>(|k| (twos(&bytes[32..96], k) | third(k) << 2) - 4),
            scale: from_fn(scale),
            min: [0; 16],
            d: half_at(bytes, 108),
            dmin: 0.0,
        }
    }
}
