//! Q2_K: 2-bit numbers, nibbles as scales and minima of sixteenths.

use std::array::from_fn;

use super::{SUPER, SuperBlock, UnpackedSuper};
use crate::matmul::block32::half_at;

pub(in crate::matmul) struct Q2K;

impl SuperBlock<84> for Q2K {
    const MINIMA: usize = 2;

    fn unpack(bytes: &[u8; 84]) -> UnpackedSuper {
        UnpackedSuper {
            q: from_fn::<i8, SUPER, _>(|k| twos(&bytes[16..80], k)),
            scale: from_fn(|sub| i16::from(bytes[sub] & 15)),
            min: from_fn(|sub| bytes[sub] >> 4),
            d: half_at(bytes, 80),
            dmin: half_at(bytes, 82),
        }
    }
}

/// Element `k` of 2-bit numbers: of 128 elements, each fourth of 32 is a pair of bits in 32 bytes.
pub(super) fn twos(bytes: &[u8], k: usize) -> i8 {
    (bytes[k / 128 * 32 + k % 32] >> (2 * (k % 128 / 32)) & 3) as i8
}
