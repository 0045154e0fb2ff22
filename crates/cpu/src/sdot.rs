//! The dot products of bytes of ARM, which the standard library does not offer yet.

use std::arch::aarch64::*;
use std::arch::asm;

/// Adds to each 32-bit lane the products of its four signed bytes.
#[inline]
#[target_feature(enable = "neon,dotprod")]
pub(crate) fn sdot(mut sum: int32x4_t, a: int8x16_t, b: int8x16_t) -> int32x4_t {
    // SAFETY: the instruction reads and writes these registers only, and the CPU has it.
    unsafe {
        asm!(
            "sdot {sum:v}.4s, {a:v}.16b, {b:v}.16b",
            sum = inout(vreg) sum,
            a = in(vreg) a,
            b = in(vreg) b,
            options(pure, nomem, nostack, preserves_flags),
        );
    }
    sum
}

/// Adds to each 32-bit lane the products of its four signed bytes of `a` with the four of lane `LANE` of `b`.
#[inline]
#[target_feature(enable = "neon,dotprod")]
pub(crate) fn sdot_lane<const LANE: usize>(mut sum: int32x4_t, a: int8x16_t, b: int8x16_t) -> int32x4_t {
    // SAFETY: as above.
    unsafe {
        asm!(
            "sdot {sum:v}.4s, {a:v}.16b, {b:v}.4b[{lane}]",
            sum = inout(vreg) sum,
            a = in(vreg) a,
            b = in(vreg) b,
            lane = const LANE,
            options(pure, nomem, nostack, preserves_flags),
        );
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isa::Isa;

    #[target_feature(enable = "neon,dotprod")]
    fn sums(a: [i8; 16], b: [i8; 16]) -> [[i32; 4]; 2] {
        let mut out = [[0; 4]; 2];
        // SAFETY: all arrays have 16 bytes.
        unsafe {
            let (a, b) = (vld1q_s8(a.as_ptr()), vld1q_s8(b.as_ptr()));
            vst1q_s32(out[0].as_mut_ptr(), sdot(vdupq_n_s32(1000), a, b));
            vst1q_s32(out[1].as_mut_ptr(), sdot_lane::<2>(vdupq_n_s32(-7), a, b));
        }
        out
    }

    #[test]
    fn lanes_are_sums_of_four_signed_products() {
        if Isa::Neon.is_available().is_err() {
            eprintln!("skipped: this machine has no dot products of bytes");
            return;
        }
        let a: [i8; 16] = std::array::from_fn(|i| (37 * i as i32 - 128) as i8);
        let b: [i8; 16] = std::array::from_fn(|i| (91 - 23 * i as i32) as i8);
        // SAFETY: the CPU has the instructions.
        let found = unsafe { sums(a, b) };
        let product = |i: usize, j: usize| i32::from(a[i]) * i32::from(b[j]);
        for lane in 0..4 {
            let each: i32 = (0..4).map(|k| product(4 * lane + k, 4 * lane + k)).sum();
            let one: i32 = (0..4).map(|k| product(4 * lane + k, 8 + k)).sum();
            assert_eq!((found[0][lane], found[1][lane]), (1000 + each, one - 7));
        }
    }
}
