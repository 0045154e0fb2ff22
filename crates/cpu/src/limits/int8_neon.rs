//! Products of bytes from registers, as many at a time as the latency asks for.

use std::arch::aarch64::*;
use std::hint::black_box;

use crate::sdot::sdot;

/// Rounds of a block.
const ROUNDS: usize = 40_000;
/// Sums that grow side by side: what four units with a latency of four cycles take.
const SUMS: usize = 16;

/// `sdot` of 16 bytes each.
pub(super) fn neon() -> (i32, u64) {
    // A multiplication and an addition for each byte of each vector.
    let operations = 2 * 16 * (ROUNDS * SUMS) as u64;
    // SAFETY: only called for a tier that is available.
    (unsafe { products() }, operations)
}

#[target_feature(enable = "neon,dotprod")]
fn products() -> i32 {
    let (mut a, b) = (vdupq_n_s8(black_box(3)), vdupq_n_s8(black_box(-5)));
    let mut sums = [vdupq_n_s32(0); SUMS];
    for _ in 0..ROUNDS {
        for sum in &mut sums {
            *sum = sdot(*sum, a, b);
        }
        // Another operand each round, so that no product is taken out of the loop.
        a = veorq_s8(a, vreinterpretq_s8_s32(sums[0]));
    }
    sums.into_iter().map(|sum| vaddvq_s32(sum)).fold(0, i32::wrapping_add)
}
