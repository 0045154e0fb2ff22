//! Q5_K: 5-bit numbers, 6-bit scales and minima of eighths.

use std::array::from_fn;

use super::q4_k::{fours, six_bits};
use super::{SUPER, SuperBlock, UnpackedSuper};
use crate::matmul::block32::half_at;

pub(in crate::matmul) struct Q5K;

impl SuperBlock<176> for Q5K {
    const MINIMA: usize = 1;

    /// The fifth bits of each eighth of the elements are a bit in 32 bytes.
    fn unpack(bytes: &[u8; 176]) -> UnpackedSuper {
        let fifth = |k: usize| (bytes[16 + k % 32] >> (k / 32) & 1) as i8;
        UnpackedSuper {
            q: from_fn::<i8, SUPER, _>(|k| fours(&bytes[48..], k) | fifth(k) << 4),
            scale: from_fn(|sub| i16::from(six_bits(&bytes[4..16], sub / 2).0)),
            min: from_fn(|sub| six_bits(&bytes[4..16], sub / 2).1),
            d: half_at(bytes, 0),
            dmin: half_at(bytes, 2),
        }
    }
}
