//! One token or a few and weights in blocks of 32: eight rows stream together, straight from the file.

use std::arch::x86_64::*;
use std::ops::Range;

use super::panel::{Of32, Panel};
use super::vector::Vector;
use crate::matmul::avx2::block32::{Block32, Groups, Rows};
use crate::matmul::avx2::lanes::{Layout, ahead, prefetch_ahead, row_sums, store_lanes, twice};
use crate::matmul::{Activations, Output, Weights};
use crate::quantize::A32Offsets;

/// # Safety
/// As [`super::matmul`], of `N` tokens or one less, which is then computed twice.
#[inline(always)]
pub(super) unsafe fn few<V, T, L, const N: usize>(
    w: &Weights,
    rows: Range<usize>,
    x: &Activations,
    y: &Output,
) where
    V: Vector<Int = __m256i, Float = __m256>,
    T: Block32,
    L: Layout,
{
    let blocks = w.cols / 32;
    let row_bytes = blocks * T::BYTES;
    let (at, tokens) = (A32Offsets::of(w.cols), x.tokens);
    // SAFETY: rows and tokens lie in their slices. Of the last rows the pointers repeat the last, so
    // that eight can be read; their lanes are not stored.
    unsafe {
        let excess = _mm256_set1_epi16(-Of32::<T>::EXCESS);
        let mut x_rows = [x.data.as_ptr(); N];
        for (t, row) in x_rows.iter_mut().enumerate() {
            *row = row.add(t.min(tokens - 1) * x.stride);
        }
        let x = x_rows;
        for row in rows.clone().step_by(8) {
            let mut start: Rows = [std::ptr::null(); 8];
            for (lane, start) in start.iter_mut().enumerate() {
                *start = w.data.as_ptr().add((row + lane).min(rows.end - 1) * row_bytes);
            }
            let mut acc = [_mm256_setzero_ps(); N];
            let mut min = [_mm256_setzero_ps(); N];
            let next = w.data.as_ptr().wrapping_add(row * row_bytes + ahead(8 * row_bytes));
            for block in 0..blocks {
                prefetch_ahead(next.wrapping_add(8 * block * T::BYTES), 8 * T::BYTES);
                let mut here = start;
                for row in &mut here {
                    *row = row.add(block * T::BYTES);
                }
                let scales = T::scales(&here);
                let groups = Of32::<T>::groups::<L>(&here);
                for t in 0..N {
                    let word = |offset: usize| x[t].add(offset + 4 * block);
                    let mut integer = dot::<V, L>(&groups, x[t].add(32 * block));
                    if Of32::<T>::EXCESS != 0 {
                        integer = _mm256_add_epi32(integer, V::pairs(V::repeat(word(at.sum)), excess));
                    }
                    let dx = V::splat_float(word(at.d).cast::<f32>().read_unaligned());
                    acc[t] = V::fma(V::float(integer), V::mul(scales.scale, dx), acc[t]);
                    if T::MINIMA {
                        let s = V::splat_float(word(at.s).cast::<f32>().read_unaligned());
                        min[t] = V::fma(scales.min, s, min[t]);
                    }
                }
            }
            for t in 0..N.min(tokens) {
                let product = if T::MINIMA { V::add(acc[t], min[t]) } else { acc[t] };
                store_lanes(y.ptr.add(t * y.stride + row - rows.start), product, rows.end - row);
            }
        }
    }
}

/// The integer products of eight rows with 32 bytes, a row a lane.
///
/// # Safety
/// As [`super::matmul`].
#[inline(always)]
unsafe fn dot<V: Vector<Int = __m256i>, L: Layout>(groups: &Groups, x: *const u8) -> __m256i {
    // SAFETY: the caller's.
    unsafe {
        if L::LANES {
            // Two chains: the instruction takes a while.
            let mut sums = [_mm256_setzero_si256(); 2];
            for (g, group) in groups.iter().enumerate() {
                sums[g % 2] = V::dot(sums[g % 2], *group, V::repeat(x.add(4 * g)));
            }
            return _mm256_add_epi32(sums[0], sums[1]);
        }
        let x = [twice(x), twice(x.add(16))];
        let mut sums = [_mm256_setzero_si256(); 4];
        for (g, group) in groups.iter().enumerate() {
            sums[g % 4] = V::dot(sums[g % 4], *group, x[g / 4]);
        }
        row_sums(&sums)
    }
}
