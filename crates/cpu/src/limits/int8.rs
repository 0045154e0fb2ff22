//! Products of bytes from registers, as many at a time as the latencies ask for.

use std::arch::x86_64::*;
use std::hint::black_box;

/// Rounds of a block.
const ROUNDS: usize = 40_000;
/// Sums that grow side by side: more than any of the instructions has cycles.
const SUMS: usize = 10;

/// `maddubs`, `madd` and an addition of 32 bytes each.
pub(super) fn avx2() -> (i32, u64) {
    #[target_feature(enable = "avx2")]
    fn block() -> i32 {
        let (a, b) = (_mm256_set1_epi8(black_box(3)), _mm256_set1_epi8(black_box(-5)));
        let ones = _mm256_set1_epi16(1);
        let mut sums = [_mm256_setzero_si256(); SUMS];
        let mut a = a;
        for _ in 0..ROUNDS {
            for sum in &mut sums {
                let products = _mm256_madd_epi16(_mm256_maddubs_epi16(a, b), ones);
                *sum = _mm256_add_epi32(*sum, products);
            }
            // Another operand each round, so that no product is taken out of the loop.
            a = _mm256_xor_si256(a, sums[0]);
        }
        let sum = sums.into_iter().fold(_mm256_setzero_si256(), |x, y| _mm256_add_epi32(x, y));
        _mm256_extract_epi32::<0>(sum)
    }
    // SAFETY: only called for a tier that is available.
    (unsafe { block() }, operations(32))
}

/// `vpdpbusd` of 32 bytes each, with whichever encoding the CPU has.
pub(super) fn avx_vnni() -> (i32, u64) {
    if std::arch::is_x86_feature_detected!("avxvnni") {
        #[target_feature(enable = "avx2,avxvnni")]
        fn block() -> i32 {
            let (mut a, b) = (_mm256_set1_epi8(black_box(3)), _mm256_set1_epi8(black_box(-5)));
            let mut sums = [_mm256_setzero_si256(); SUMS];
            for _ in 0..ROUNDS {
                for sum in &mut sums {
                    *sum = _mm256_dpbusd_avx_epi32(*sum, a, b);
                }
                a = _mm256_xor_si256(a, sums[0]);
            }
            let sum = sums.into_iter().fold(_mm256_setzero_si256(), |x, y| _mm256_add_epi32(x, y));
            _mm256_extract_epi32::<0>(sum)
        }
        // SAFETY: the CPU has the instructions.
        return (unsafe { block() }, operations(32));
    }
    #[target_feature(enable = "avx2,avx512vl,avx512vnni")]
    fn block() -> i32 {
        let (mut a, b) = (_mm256_set1_epi8(black_box(3)), _mm256_set1_epi8(black_box(-5)));
        let mut sums = [_mm256_setzero_si256(); SUMS];
        for _ in 0..ROUNDS {
            for sum in &mut sums {
                *sum = _mm256_dpbusd_epi32(*sum, a, b);
            }
            a = _mm256_xor_si256(a, sums[0]);
        }
        let sum = sums.into_iter().fold(_mm256_setzero_si256(), |x, y| _mm256_add_epi32(x, y));
        _mm256_extract_epi32::<0>(sum)
    }
    // SAFETY: the tier is available, so without AVX-VNNI the CPU has AVX-512 with VNNI.
    (unsafe { block() }, operations(32))
}

/// `vpdpbusd` of 64 bytes each.
pub(super) fn avx512() -> (i32, u64) {
    #[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
    fn block() -> i32 {
        let (mut a, b) = (_mm512_set1_epi8(black_box(3)), _mm512_set1_epi8(black_box(-5)));
        let mut sums = [_mm512_setzero_si512(); SUMS];
        for _ in 0..ROUNDS {
            for sum in &mut sums {
                *sum = _mm512_dpbusd_epi32(*sum, a, b);
            }
            a = _mm512_xor_si512(a, sums[0]);
        }
        let sum = sums.into_iter().fold(_mm512_setzero_si512(), |x, y| _mm512_add_epi32(x, y));
        _mm512_reduce_add_epi32(sum)
    }
    // SAFETY: only called for a tier that is available.
    (unsafe { block() }, operations(64))
}

/// A multiplication and an addition for each byte of each vector.
fn operations(bytes: u64) -> u64 {
    2 * bytes * (ROUNDS * SUMS) as u64
}
