//! 5-bit weights in blocks of 32: Q5_0 and Q5_1.

use std::arch::aarch64::*;

use super::block32::Block32;
use super::panel::Numbers;
use super::q4::nibbles;

/// A scale, with `MINIMA` a minimum, 32 fifth bits, 32 nibbles.
pub(super) struct Q5<const MINIMA: bool>;

/// Numbers are 16 too large.
pub(super) type Q5_0 = Q5<false>;
pub(super) type Q5_1 = Q5<true>;

impl<const MINIMA: bool> Block32 for Q5<MINIMA> {
    const BYTES: usize = if MINIMA { 24 } else { 22 };
    const MINIMA: bool = MINIMA;

    #[inline]
    #[target_feature(enable = "neon")]
    unsafe fn numbers(block: *const u8) -> Numbers {
        // SAFETY: the last 20 bytes are fifth bits and nibbles.
        let (fifths, nibbles) = unsafe {
            let at = block.add(Self::BYTES - 20);
            ([0, 2].map(|i| at.add(i).cast::<u16>().read_unaligned()), nibbles(vld1q_u8(at.add(4))))
        };
        std::array::from_fn(|half| {
            let set = bits(fifths[half]);
            if MINIMA {
                return vorrq_s8(nibbles[half], vandq_s8(set, vdupq_n_s8(16)));
            }
            // With the bit the nibble is the number, without it 16 more.
            vsubq_s8(nibbles[half], vbicq_s8(vdupq_n_s8(16), set))
        })
    }
}

/// A byte for each bit, the lowest first: all ones if it is set.
#[inline]
#[target_feature(enable = "neon")]
fn bits(word: u16) -> int8x16_t {
    let bytes = vcombine_u8(vdup_n_u8(word as u8), vdup_n_u8((word >> 8) as u8));
    let each = vcreate_u8(0x8040_2010_0804_0201);
    vreinterpretq_s8_u8(vtstq_u8(bytes, vcombine_u8(each, each)))
}
