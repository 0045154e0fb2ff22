//! One token or a few: eight rows stream together, each weight is read once, straight from the file.

use std::arch::x86_64::*;
use std::ops::Range;

use super::block32::{Block32, Rows};
use super::lanes::{Pairs, ahead, prefetch_ahead, store_lanes, twice};
use crate::matmul::{Activations, Output, Weights};
use crate::quantize::A32Offsets;

/// The most tokens in one pass.
pub(super) const TOKENS: usize = 8;

/// # Safety
/// As [`super::matmul`]; there are at most [`TOKENS`] tokens.
pub(super) unsafe fn matmul<T: Block32>(w: &Weights, rows: Range<usize>, x: &Activations, y: &Output) {
    // SAFETY: the same conditions.
    unsafe {
        match x.tokens {
            1 => tokens::<T, 1>(w, rows, x, y),
            2 => tokens::<T, 2>(w, rows, x, y),
            3 => tokens::<T, 3>(w, rows, x, y),
            4 => tokens::<T, 4>(w, rows, x, y),
            5 | 6 => tokens::<T, 6>(w, rows, x, y),
            7 | 8 => tokens::<T, 8>(w, rows, x, y),
            _ => unreachable!("{} tokens", x.tokens),
        }
    }
}

/// # Safety
/// As [`matmul`], of `N` tokens or one less, which is then computed twice.
#[target_feature(enable = "avx2,fma,f16c")]
unsafe fn tokens<T: Block32, const N: usize>(w: &Weights, rows: Range<usize>, x: &Activations, y: &Output) {
    let blocks = w.cols / 32;
    let row_bytes = blocks * T::BYTES;
    let at = A32Offsets::of(w.cols);
    let offset = _mm256_set1_epi16(T::OFFSET);
    // SAFETY: rows and tokens lie in their slices. Of the last rows the pointers repeat the last, so
    // that eight can be read; their lanes are not stored.
    unsafe {
        let tokens = x.tokens;
        let x: [*const u8; N] = std::array::from_fn(|t| x.data.as_ptr().add(t.min(tokens - 1) * x.stride));
        for row in rows.clone().step_by(8) {
            let start: Rows =
                std::array::from_fn(|l| w.data.as_ptr().add((row + l).min(rows.end - 1) * row_bytes));
            let mut acc = [_mm256_setzero_ps(); N];
            let mut min = [_mm256_setzero_ps(); N];
            let next = w.data.as_ptr().wrapping_add(row * row_bytes + ahead(8 * row_bytes));
            for block in 0..blocks {
                prefetch_ahead(next.wrapping_add(8 * block * T::BYTES), 8 * T::BYTES);
                let here: Rows = start.map(|row| row.add(block * T::BYTES));
                let scales = T::scales(&here);
                let groups = T::groups::<Pairs>(&here);
                for t in 0..N {
                    let here = x[t].add(32 * block);
                    let mut integer = T::dot(&groups, [twice(here), twice(here.add(16))]);
                    let word = |offset: usize| x[t].add(offset + 4 * block);
                    if T::OFFSET != 0 {
                        let sum = _mm256_set1_epi32(word(at.sum).cast::<i32>().read_unaligned());
                        integer = _mm256_sub_epi32(integer, _mm256_madd_epi16(sum, offset));
                    }
                    let dx = _mm256_set1_ps(word(at.d).cast::<f32>().read_unaligned());
                    let scale = _mm256_mul_ps(scales.scale, dx);
                    acc[t] = _mm256_fmadd_ps(_mm256_cvtepi32_ps(integer), scale, acc[t]);
                    if T::MINIMA {
                        let s = _mm256_set1_ps(word(at.s).cast::<f32>().read_unaligned());
                        min[t] = _mm256_fmadd_ps(scales.min, s, min[t]);
                    }
                }
            }
            for t in 0..N.min(tokens) {
                let product = if T::MINIMA { _mm256_add_ps(acc[t], min[t]) } else { acc[t] };
                let to = y.ptr.add(t * y.stride + row - rows.start);
                store_lanes(to, product, rows.end - row);
            }
        }
    }
}
