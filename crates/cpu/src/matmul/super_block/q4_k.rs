//! Q4_K: nibbles, 6-bit scales and minima of eighths.

use std::array::from_fn;

use super::{SUPER, SuperBlock, UnpackedSuper};
use crate::matmul::block32::half_at;

pub(in crate::matmul) struct Q4K;

impl SuperBlock<144> for Q4K {
    const MINIMA: usize = 1;

    fn unpack(bytes: &[u8; 144]) -> UnpackedSuper {
        UnpackedSuper {
            q: from_fn::<i8, SUPER, _>(|k| fours(&bytes[16..], k)),
            scale: from_fn(|sub| i16::from(six_bits(&bytes[4..16], sub / 2).0)),
            min: from_fn(|sub| six_bits(&bytes[4..16], sub / 2).1),
            d: half_at(bytes, 0),
            dmin: half_at(bytes, 2),
        }
    }
}

/// Element `k` of nibbles: of 64 elements the first 32 are the low nibbles of 32 bytes.
pub(super) fn fours(bytes: &[u8], k: usize) -> i8 {
    (bytes[k / 64 * 32 + k % 32] >> (4 * (k % 64 / 32)) & 15) as i8
}

/// Scale and minimum of an eighth: of the first four the low 6 bits of bytes 0 to 3 and 4 to 7, of
/// the others the nibbles of bytes 8 to 11, under the upper bits of bytes 0 to 3 and 4 to 7.
pub(super) fn six_bits(bytes: &[u8], eighth: usize) -> (u8, u8) {
    let (scale, min) = (bytes[eighth % 4], bytes[4 + eighth % 4]);
    if eighth < 4 {
        return (scale & 63, min & 63);
    }
    let low = bytes[4 + eighth];
    (low & 15 | scale >> 6 << 4, low >> 4 | min >> 6 << 4)
}
