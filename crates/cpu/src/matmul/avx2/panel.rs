//! Many tokens: rows are unpacked once into a panel, which all tokens then use.

use std::arch::x86_64::*;
use std::ops::Range;

use super::block32::{Block32, Rows};
use super::lanes::{Lanes, prefetch, store_lanes, unrolled};
use crate::matmul::{Activations, Output, Weights};
use crate::quantize::A32Offsets;

/// Vectors start at multiples of this many bytes, so that none lies in two cache lines.
pub(super) const ALIGN: usize = 64;

/// Bytes of activations that are used again and again while they lie in the second-level cache.
pub(super) const TOKENS_BYTES: usize = 256 << 10;

/// Tokens that pay for unpacking once more, whatever their size.
pub(super) const TOKENS_MIN: usize = 128;

/// Bytes of the groups of a block: eight times two vectors.
const GROUPS: usize = 8 * 64;

/// Bytes of a block of the panel: its groups, then the scales of all rows, then the minima.
const fn block_bytes<T: Block32>() -> usize {
    GROUPS + 32 * T::PANEL_EIGHTS * (1 + T::MINIMA as usize)
}

pub(super) fn scratch_bytes<T: Block32>(cols: usize) -> usize {
    cols / 32 * block_bytes::<T>() + ALIGN
}

/// # Safety
/// As [`super::matmul`].
#[target_feature(enable = "avx2,fma,f16c")]
pub(super) unsafe fn matmul<T: Block32>(
    w: &Weights,
    rows: Range<usize>,
    x: &Activations,
    y: &Output,
    scratch: &mut [u8],
) {
    let skip = scratch.as_ptr().align_offset(ALIGN);
    let panel = &mut scratch[skip..][..w.cols / 32 * block_bytes::<T>()];
    let tokens_step = (TOKENS_BYTES / x.stride.max(1)).max(TOKENS_MIN);
    for token in (0..x.tokens).step_by(tokens_step) {
        let tokens = token..x.tokens.min(token + tokens_step);
        for row in rows.clone().step_by(8 * T::PANEL_EIGHTS) {
            let panel_rows = row..rows.end.min(row + 8 * T::PANEL_EIGHTS);
            let to = Output { ptr: y.ptr.wrapping_add(row - rows.start), stride: y.stride };
            // SAFETY: the rows are some of the range, the panel has the size of the tiles' reads.
            unsafe {
                unpack::<T>(w, panel_rows.clone(), panel);
                multiply::<T>(panel.as_ptr(), w, panel_rows, x, tokens.clone(), &to);
            }
        }
    }
}

/// A panel, which holds `rows`, times a range of tokens.
///
/// # Safety
/// The CPU has the instructions, the tokens exist, the output has an element for each of them and
/// each of `rows`.
#[target_feature(enable = "avx2,fma,f16c")]
unsafe fn multiply<T: Block32>(
    panel: *const u8,
    w: &Weights,
    rows: Range<usize>,
    x: &Activations,
    tokens: Range<usize>,
    y: &Output,
) {
    let mut next = w.data.as_ptr().wrapping_add(rows.end * w.dtype.row_bytes(w.cols));
    let mut token = tokens.start;
    // SAFETY: the caller's.
    unsafe {
        while token < tokens.end {
            token += match tokens.end - token {
                1 => tile::<T, 1>(panel, w.cols, x, token, y, rows.len(), next),
                2 => tile::<T, 2>(panel, w.cols, x, token, y, rows.len(), next),
                3 => tile::<T, 3>(panel, w.cols, x, token, y, rows.len(), next),
                _ => tile::<T, 4>(panel, w.cols, x, token, y, rows.len(), next),
            };
            next = std::ptr::null();
        }
    }
}

/// Fills the panel with rows; missing ones repeat the last.
///
/// # Safety
/// The CPU has the instructions, the rows exist.
#[inline(never)] // A function of its own in profiles.
#[target_feature(enable = "avx2,fma,f16c")]
unsafe fn unpack<T: Block32>(w: &Weights, rows: Range<usize>, panel: &mut [u8]) {
    let row_bytes = w.cols / 32 * T::BYTES;
    for eight in 0..T::PANEL_EIGHTS {
        // SAFETY: the rows lie in the slice, and the panel was cut into blocks.
        unsafe {
            let start: Rows = std::array::from_fn(|lane| {
                w.data.as_ptr().add((rows.start + 8 * eight + lane).min(rows.end - 1) * row_bytes)
            });
            for (block, to) in panel.chunks_exact_mut(block_bytes::<T>()).enumerate() {
                let to = to.as_mut_ptr();
                let here: Rows = start.map(|row| row.add(block * T::BYTES));
                T::store(&T::groups::<Lanes>(&here), to, eight);
                let scales = T::scales(&here);
                let floats = to.add(GROUPS).cast::<f32>();
                _mm256_storeu_ps(floats.add(8 * eight), scales.scale);
                if T::MINIMA {
                    _mm256_storeu_ps(floats.add(8 * (T::PANEL_EIGHTS + eight)), scales.min);
                }
            }
        }
    }
}

/// All rows of the panel times tokens `first..first + N`. Returns `N`.
///
/// # Safety
/// The CPU has the instructions, the tokens exist, the output has an element for each of them and
/// each of `rows`. `next` is null or where the rows of the next panel would be, to be asked for.
#[inline(never)] // A function of its own in profiles.
#[target_feature(enable = "avx2,fma,f16c")]
unsafe fn tile<T: Block32, const N: usize>(
    panel: *const u8,
    cols: usize,
    x: &Activations,
    first: usize,
    y: &Output,
    rows: usize,
    next: *const u8,
) -> usize {
    let at = A32Offsets::of(cols);
    let offset = _mm256_set1_epi16(T::PANEL_OFFSET);
    let mut acc = [[_mm256_setzero_ps(); 2]; N];
    let mut min = [[_mm256_setzero_ps(); 2]; N];
    // SAFETY: the tokens' rows lie in their slice, the blocks in the panel.
    unsafe {
        let x: [*const u8; N] = std::array::from_fn(|t| x.data.as_ptr().add((first + t) * x.stride));
        for block in 0..cols / 32 {
            let panel = panel.add(block * block_bytes::<T>());
            if !next.is_null() {
                let bytes = 8 * T::PANEL_EIGHTS * T::BYTES;
                prefetch(next.wrapping_add(block * bytes), bytes, cols / 32 * bytes);
            }
            let mut integers = [[_mm256_setzero_si256(); 2]; N];
            let mut sums = [[_mm256_setzero_si256(); 2]; N];
            unrolled!(GROUP in [0, 1, 2, 3, 4, 5, 6, 7] {
                let groups = 8 / T::PANEL_PARTS;
                let group = panel.add(64 * GROUP).cast();
                let weights = [_mm256_load_si256(group), _mm256_load_si256(group.add(1))];
                for t in 0..N {
                    let x = x[t].add(32 * block + 4 * GROUP).cast::<i32>().read_unaligned();
                    let x = _mm256_set1_epi32(x);
                    for v in 0..2 {
                        let products = _mm256_maddubs_epi16(weights[v], x);
                        let first = GROUP.is_multiple_of(groups);
                        sums[t][v] = in_register(if first { products } else { _mm256_add_epi16(sums[t][v], products) });
                    }
                }
                if GROUP % groups == groups - 1 {
                    for t in 0..N {
                        let found = T::integers(sums[t]);
                        for v in 0..2 {
                            let first = GROUP < groups;
                            integers[t][v] = if first { found[v] } else { _mm256_add_epi32(integers[t][v], found[v]) };
                        }
                    }
                }
            });
            let floats = panel.add(GROUPS).cast::<f32>();
            for t in 0..N {
                let word = |offset: usize| x[t].add(offset + 4 * block);
                let dx = _mm256_set1_ps(word(at.d).cast::<f32>().read_unaligned());
                let mut integers = integers[t];
                if T::PANEL_OFFSET != 0 {
                    let sum = _mm256_set1_epi32(word(at.sum).cast::<i32>().read_unaligned());
                    let sum = _mm256_madd_epi16(sum, offset);
                    integers = [_mm256_sub_epi32(integers[0], sum), _mm256_sub_epi32(integers[1], sum)];
                }
                for v in 0..T::PANEL_EIGHTS {
                    let scale = _mm256_mul_ps(_mm256_load_ps(floats.add(8 * v)), dx);
                    acc[t][v] = _mm256_fmadd_ps(_mm256_cvtepi32_ps(integers[v]), scale, acc[t][v]);
                    if T::MINIMA {
                        let s = _mm256_set1_ps(word(at.s).cast::<f32>().read_unaligned());
                        let m = _mm256_load_ps(floats.add(8 * (T::PANEL_EIGHTS + v)));
                        min[t][v] = _mm256_fmadd_ps(m, s, min[t][v]);
                    }
                }
            }
        }
        for t in 0..N {
            for v in 0..T::PANEL_EIGHTS.min(rows.div_ceil(8)) {
                let product = if T::MINIMA { _mm256_add_ps(acc[t][v], min[t][v]) } else { acc[t][v] };
                store_lanes(y.ptr.add((first + t) * y.stride + 8 * v), product, rows - 8 * v);
            }
        }
    }
    N
}

/// Keeps the compiler from doing one token after the other, which would load every weight again for
/// each: it must have the sums of all tokens in registers, group after group.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn in_register(mut sum: __m256i) -> __m256i {
    // SAFETY: no instruction at all; the value is as before.
    unsafe { std::arch::asm!("/* {0} */", inout(ymm_reg) sum, options(nomem, nostack, preserves_flags)) };
    sum
}
