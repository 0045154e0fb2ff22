//! Q6_K: 6-bit numbers less 32, signed bytes as scales of sixteenths.

use std::array::from_fn;

use super::{SUPER, SuperBlock, UnpackedSuper};
use crate::matmul::block32::half_at;

pub(in crate::matmul) struct Q6K;

impl SuperBlock<210> for Q6K {
    const MINIMA: usize = 0;

    /// Of 128 elements, the low 4 bits of the first 64 are the low nibbles of 64 bytes, those of the
    /// others the high ones; the upper 2 bits of each fourth of 32 elements are a pair of bits in 32 bytes.
    fn unpack(bytes: &[u8; 210]) -> UnpackedSuper {
        let (low, high) = (&bytes[..128], &bytes[128..192]);
        let number = |k: usize| {
            let (half, quarter) = (k / 128, k % 128 / 32);
            let low = low[64 * half + k % 64] >> (4 * (quarter / 2)) & 15;
            let high = high[32 * half + k % 32] >> (2 * quarter) & 3;
            (low | high << 4) as i8 - 32
        };
        UnpackedSuper {
            q: from_fn::<i8, SUPER, _>(number),
            scale: from_fn(|sub| i16::from(bytes[192 + sub] as i8)),
            min: [0; 16],
            d: half_at(bytes, 208),
            dmin: 0.0,
        }
    }
}
