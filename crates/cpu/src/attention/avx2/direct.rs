//! Scores of few rows, from keys as they lie in pages.

use std::arch::x86_64::*;

use super::super::RANGE;
use super::load::{self, eight};
use super::pages::{AHEAD, Pages};
use super::{Buffers, Run, TILE, tiles};
use crate::isa::Isa;
use crate::kv::load_row;

/// Scores of all rows of the run; those of positions that a row does not see are undefined. Toward the end memory is asked
/// for the first of the values.
///
/// # Safety
/// The queries exist and the pages are readable, head_dim is a multiple of 8, the CPU has AVX2, FMA
/// and F16C.
#[target_feature(enable = "avx2,fma,f16c")]
pub unsafe fn scores(run: &Run, keys: &Pages, values: &Pages, buffers: &mut Buffers) {
    let dim = keys.head_dim;
    (0..AHEAD).step_by(8).for_each(|position| keys.ask(position..position + 8));
    for span in keys.spans.iter().filter(|span| !span.is_empty()) {
        for position in (span.start / 8 * 8..span.end).step_by(8) {
            match position + AHEAD {
                ahead if ahead < RANGE => keys.ask(ahead..ahead + 8),
                ahead => values.ask(ahead - RANGE..ahead - RANGE + 8),
            }
            // SAFETY: the rows lie in the span and have `dim` elements, as the queries have.
            unsafe {
                let rows = keys.eight_rows(span, position);
                let scores = &mut buffers.scores[position..];
                match keys.dtype {
                    graph::DType::F32 => all_rows::<{ load::F32 }>(run, rows, scores),
                    graph::DType::F16 => all_rows::<{ load::F16 }>(run, rows, scores),
                    graph::DType::BF16 => all_rows::<{ load::BF16 }>(run, rows, scores),
                    blocks => {
                        // A block has one scale, so it is converted as a whole.
                        let floats = &mut buffers.range[..8 * dim];
                        for (row, floats) in rows.into_iter().zip(floats.chunks_exact_mut(dim)) {
                            load_row(Isa::Avx2, blocks, row, dim, floats.as_mut_ptr());
                        }
                        let floats = floats.as_ptr();
                        let rows = std::array::from_fn(|i| floats.add(i * dim).cast());
                        all_rows::<{ load::F32 }>(run, rows, scores);
                    }
                }
            }
        }
    }
}

/// Scores of eight keys for all rows; `scores` begins at the first key's of the first row.
///
/// # Safety
/// The queries exist, the keys are of type `TYPE`, the CPU has AVX2, FMA and F16C.
#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
unsafe fn all_rows<const TYPE: u8>(run: &Run, keys: [*const u8; 8], scores: &mut [f32]) {
    for rows in tiles(run.rows()) {
        let row = rows.start;
        let scores = &mut scores[row * RANGE..];
        // SAFETY: the caller's promise.
        unsafe {
            match rows.len() {
                1 => tile::<TYPE, 1>(run, row, keys, scores),
                2 => tile::<TYPE, 2>(run, row, keys, scores),
                _ => tile::<TYPE, TILE>(run, row, keys, scores),
            }
        }
    }
}

/// Scores of eight keys for `R` rows from `row` on.
///
/// # Safety
/// As [`all_rows`].
#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
unsafe fn tile<const TYPE: u8, const R: usize>(
    run: &Run,
    row: usize,
    keys: [*const u8; 8],
    scores: &mut [f32],
) {
    let dim = run.task.head_dim;
    let scale = _mm256_set1_ps(run.task.scale);
    let [k0, k1, k2, k3, k4, k5, k6, k7] = keys;
    // SAFETY: the caller's promise.
    unsafe {
        let q: [*const f32; R] =
            std::array::from_fn(|i| run.task.query(run.token(row + i), run.head(row + i)));
        let low = four_keys::<TYPE, R>(&q, [k0, k1, k2, k3], dim);
        let high = four_keys::<TYPE, R>(&q, [k4, k5, k6, k7], dim);
        for r in 0..R {
            let scores = scores[r * RANGE..][..8].as_mut_ptr();
            _mm256_storeu_ps(scores, _mm256_mul_ps(eight_sums(low[r], high[r]), scale));
        }
    }
}

/// Of `R` queries and four keys, the partial sums of their products, those 8 apart added.
///
/// # Safety
/// The queries and the keys, of type `TYPE`, have `dim` elements, a multiple of 8. The CPU has AVX2,
/// FMA and F16C.
#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
unsafe fn four_keys<const TYPE: u8, const R: usize>(
    q: &[*const f32; R],
    keys: [*const u8; 4],
    dim: usize,
) -> [[__m256; 4]; R] {
    // Partial sums 0 to 7, or 8 to 15: so many fit into the registers.
    let half = |first: usize| {
        let mut sums = [[_mm256_setzero_ps(); 4]; R];
        let mut d = first;
        while d < dim {
            // SAFETY: d + 8 <= dim.
            unsafe {
                let q = q.map(|q| _mm256_loadu_ps(q.add(d)));
                for (i, key) in keys.into_iter().enumerate() {
                    let key = eight::<TYPE>(key, d);
                    for r in 0..R {
                        sums[r][i] = _mm256_fmadd_ps(q[r], key, sums[r][i]);
                    }
                }
            }
            d += 16;
        }
        sums
    };
    let (mut sums, high) = (half(0), half(8));
    for (sums, high) in sums.iter_mut().zip(high) {
        for (sum, high) in sums.iter_mut().zip(high) {
            *sum = _mm256_add_ps(*sum, high);
        }
    }
    sums
}

/// The rest of the tree for eight keys at once: key i's sum comes out in lane i.
#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
fn eight_sums(low: [__m256; 4], high: [__m256; 4]) -> __m256 {
    // 4 apart: a half of a register is what is left of a key.
    let four: [__m256; 4] = std::array::from_fn(|i| {
        let a = _mm256_permute2f128_ps::<0x20>(low[i], high[i]);
        let b = _mm256_permute2f128_ps::<0x31>(low[i], high[i]);
        _mm256_add_ps(a, b)
    });
    // 2 apart: two lanes are left of each.
    let two = |a: __m256, b: __m256| {
        let (a, b) = (_mm256_castps_pd(a), _mm256_castps_pd(b));
        let (first, second) = (_mm256_unpacklo_pd(a, b), _mm256_unpackhi_pd(a, b));
        _mm256_add_ps(_mm256_castpd_ps(first), _mm256_castpd_ps(second))
    };
    let (a, b) = (two(four[0], four[1]), two(four[2], four[3]));
    let even = _mm256_shuffle_ps::<0b10_00_10_00>(a, b);
    let odd = _mm256_shuffle_ps::<0b11_01_11_01>(a, b);
    _mm256_add_ps(even, odd)
}
