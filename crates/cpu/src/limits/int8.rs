//! Products of bytes from registers, as many at a time as the latencies ask for.

use std::arch::x86_64::*;
use std::hint::black_box;

/// Rounds of a block.
const ROUNDS: usize = 40_000;
/// Sums that grow side by side: more than any of the instructions has cycles.
const SUMS: usize = 10;

/// A block of products with vectors of one width: `$step` adds the products of two vectors to a sum.
macro_rules! block {
    ($name:ident, $features:literal, $set:ident, $zero:ident, $xor:ident, $total:path, $step:expr) => {
        #[target_feature(enable = $features)]
        fn $name() -> i32 {
            let (mut a, b) = ($set(black_box(3)), $set(black_box(-5)));
            let mut sums = [$zero(); SUMS];
            for _ in 0..ROUNDS {
                for sum in &mut sums {
                    *sum = $step(*sum, a, b);
                }
                // Another operand each round, so that no product is taken out of the loop.
                a = $xor(a, sums[0]);
            }
            sums.into_iter().map(|sum| $total(sum)).fold(0, i32::wrapping_add)
        }
    };
}

block!(
    maddubs,
    "avx2",
    _mm256_set1_epi8,
    _mm256_setzero_si256,
    _mm256_xor_si256,
    _mm256_extract_epi32::<0>,
    |sum, a, b| {
        let products = _mm256_madd_epi16(_mm256_maddubs_epi16(a, b), _mm256_set1_epi16(1));
        _mm256_add_epi32(sum, products)
    }
);
block!(
    dpbusd_avx,
    "avx2,avxvnni",
    _mm256_set1_epi8,
    _mm256_setzero_si256,
    _mm256_xor_si256,
    _mm256_extract_epi32::<0>,
    |sum, a, b| _mm256_dpbusd_avx_epi32(sum, a, b)
);
block!(
    dpbusd_256,
    "avx2,avx512vl,avx512vnni",
    _mm256_set1_epi8,
    _mm256_setzero_si256,
    _mm256_xor_si256,
    _mm256_extract_epi32::<0>,
    |sum, a, b| _mm256_dpbusd_epi32(sum, a, b)
);
block!(
    dpbusd_512,
    "avx512f,avx512bw,avx512vnni",
    _mm512_set1_epi8,
    _mm512_setzero_si512,
    _mm512_xor_si512,
    _mm512_reduce_add_epi32,
    |sum, a, b| _mm512_dpbusd_epi32(sum, a, b)
);

/// `maddubs`, `madd` and an addition of 32 bytes each.
pub(super) fn avx2() -> (i32, u64) {
    // SAFETY: only called for a tier that is available.
    (unsafe { maddubs() }, operations(32))
}

/// `vpdpbusd` of 32 bytes each, with whichever encoding the CPU has.
pub(super) fn avx_vnni() -> (i32, u64) {
    let sum = match std::arch::is_x86_feature_detected!("avxvnni") {
        // SAFETY: the CPU has the instructions.
        true => unsafe { dpbusd_avx() },
        // SAFETY: the tier is available, so without AVX-VNNI the CPU has AVX-512 with VNNI.
        false => unsafe { dpbusd_256() },
    };
    (sum, operations(32))
}

/// `vpdpbusd` of 64 bytes each.
pub(super) fn avx512() -> (i32, u64) {
    // SAFETY: only called for a tier that is available.
    (unsafe { dpbusd_512() }, operations(64))
}

/// A multiplication and an addition for each byte of each vector.
fn operations(bytes: u64) -> u64 {
    2 * bytes * (ROUNDS * SUMS) as u64
}
