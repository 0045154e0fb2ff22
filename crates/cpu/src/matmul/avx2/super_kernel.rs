//! Blocks of 256: rows are unpacked, a super-block of eight for a few tokens, a panel for many; the
//! tokens then multiply what was unpacked.

use std::arch::x86_64::*;
use std::ops::Range;

use super::block32::Rows;
use super::few::TOKENS;
use super::lanes::{prefetch, store_lanes};
use super::panel::{ALIGN, TOKENS_BYTES, TOKENS_MIN, in_register};
use super::super_block::{BLOCKS, Place, SuperBlock};
use crate::matmul::super_block::SUPER;
use crate::matmul::{Activations, Output, Weights};
use crate::quantize::A32Offsets;

pub(super) fn few_bytes<T: SuperBlock>() -> usize {
    Place::<T, 1>::BYTES + ALIGN
}

pub(super) fn panel_bytes<T: SuperBlock>(cols: usize) -> usize {
    // A panel of any size holds a super-block of eight rows too, for fewer tokens than planned.
    let panel = if T::VECTORS == 1 { Place::<T, 2>::BYTES } else { Place::<T, 1>::BYTES };
    (cols / SUPER).max(1) * panel + ALIGN
}

/// At most [`TOKENS`] tokens.
///
/// # Safety
/// As [`super::matmul`].
pub(super) unsafe fn few<T: SuperBlock>(
    w: &Weights,
    rows: Range<usize>,
    x: &Activations,
    y: &Output,
    scratch: &mut [u8],
) {
    let skip = scratch.as_ptr().align_offset(ALIGN);
    let buffer = &mut scratch[skip..][..Place::<T, 1>::BYTES];
    const { assert!(TOKENS == 4) };
    // SAFETY: the caller's.
    unsafe {
        match x.tokens {
            1 => few_tokens::<T, 1>(w, rows, x, y, buffer),
            2 => few_tokens::<T, 2>(w, rows, x, y, buffer),
            3 => few_tokens::<T, 3>(w, rows, x, y, buffer),
            4 => few_tokens::<T, 4>(w, rows, x, y, buffer),
            _ => unreachable!("{} tokens", x.tokens),
        }
    }
}

/// # Safety
/// As [`few`]; the buffer holds a super-block of eight rows.
#[target_feature(enable = "avx2,fma,f16c")]
unsafe fn few_tokens<T: SuperBlock, const N: usize>(
    w: &Weights,
    rows: Range<usize>,
    x: &Activations,
    y: &Output,
    buffer: &mut [u8],
) {
    let supers = w.cols / SUPER;
    let row_bytes = supers * T::BYTES;
    let at = A32Offsets::of(w.cols);
    let buffer = buffer.as_mut_ptr();
    // SAFETY: rows and tokens lie in their slices. Of the last rows the pointers repeat the last, so
    // that eight can be read; their lanes are not stored.
    unsafe {
        let x: [*const u8; N] = std::array::from_fn(|t| x.data.as_ptr().add(t * x.stride));
        for row in rows.clone().step_by(8) {
            let start = eight(w, row, rows.end);
            let mut sums = [Sums::zero(); N];
            let next = w.data.as_ptr().wrapping_add((row + 8) * row_bytes);
            for index in 0..supers {
                prefetch(next.wrapping_add(8 * index * T::BYTES), 8 * T::BYTES, 8 * row_bytes);
                let here: Rows = start.map(|row| row.add(index * T::BYTES));
                T::unpack(&here, Place::<T, 1>::new(buffer, 0));
                multiply::<T, 1, N>(buffer, &x, &at, index, &mut sums);
            }
            for t in 0..N {
                let to = y.ptr.add(t * y.stride + row - rows.start);
                store_lanes(to, sums[t].product::<T>(0), rows.end - row);
            }
        }
    }
}

/// # Safety
/// As [`super::matmul`].
#[target_feature(enable = "avx2,fma,f16c")]
pub(super) unsafe fn panel<T: SuperBlock>(
    w: &Weights,
    rows: Range<usize>,
    x: &Activations,
    y: &Output,
    scratch: &mut [u8],
) {
    // SAFETY: the caller's.
    unsafe {
        if T::VECTORS == 1 {
            panels::<T, 2>(w, rows, x, y, scratch);
        } else {
            panels::<T, 1>(w, rows, x, y, scratch);
        }
    }
}

/// # Safety
/// As [`panel`]; the scratch holds a panel of `EIGHTS` times eight rows.
#[target_feature(enable = "avx2,fma,f16c")]
unsafe fn panels<T: SuperBlock, const EIGHTS: usize>(
    w: &Weights,
    rows: Range<usize>,
    x: &Activations,
    y: &Output,
    scratch: &mut [u8],
) {
    let skip = scratch.as_ptr().align_offset(ALIGN);
    let panel = &mut scratch[skip..][..w.cols / SUPER * Place::<T, EIGHTS>::BYTES];
    let tokens_step = (TOKENS_BYTES / x.stride.max(1)).max(TOKENS_MIN);
    for token in (0..x.tokens).step_by(tokens_step) {
        let end = x.tokens.min(token + tokens_step);
        for row in rows.clone().step_by(8 * EIGHTS) {
            let panel_rows = row..rows.end.min(row + 8 * EIGHTS);
            let to = Output { ptr: y.ptr.wrapping_add(row - rows.start), stride: y.stride };
            let mut next = w.data.as_ptr().wrapping_add(panel_rows.end * w.dtype.row_bytes(w.cols));
            let mut token = token;
            // SAFETY: the rows are some of the range, the panel has the size of the tiles' reads.
            unsafe {
                unpack::<T, EIGHTS>(w, panel_rows.clone(), panel);
                while token < end {
                    let (panel, rows) = (panel.as_ptr(), panel_rows.len());
                    token += match T::TILE.min(end - token) {
                        1 => tile::<T, EIGHTS, 1>(panel, w.cols, x, token, &to, rows, next),
                        2 => tile::<T, EIGHTS, 2>(panel, w.cols, x, token, &to, rows, next),
                        3 => tile::<T, EIGHTS, 3>(panel, w.cols, x, token, &to, rows, next),
                        _ => tile::<T, EIGHTS, 4>(panel, w.cols, x, token, &to, rows, next),
                    };
                    next = std::ptr::null();
                }
            }
        }
    }
}

/// Pointers to the eight rows from `row` on, the last before `end` in place of those behind it.
///
/// # Safety
/// The rows before `end` lie in the slice.
#[inline]
unsafe fn eight(w: &Weights, row: usize, end: usize) -> Rows {
    let row_bytes = w.dtype.row_bytes(w.cols);
    // SAFETY: the caller's.
    std::array::from_fn(|lane| unsafe { w.data.as_ptr().add((row + lane).min(end - 1) * row_bytes) })
}

/// Fills the panel with rows; missing ones repeat the last.
///
/// # Safety
/// The CPU has the instructions, the rows exist, the panel starts at a multiple of 32.
#[inline(never)] // A function of its own in profiles.
#[target_feature(enable = "avx2,fma,f16c")]
unsafe fn unpack<T: SuperBlock, const EIGHTS: usize>(w: &Weights, rows: Range<usize>, panel: &mut [u8]) {
    for index in 0..EIGHTS {
        // SAFETY: the rows lie in the slice, and the panel was cut into super-blocks.
        unsafe {
            let start = eight(w, rows.start + 8 * index, rows.end);
            for (block, to) in panel.chunks_exact_mut(Place::<T, EIGHTS>::BYTES).enumerate() {
                let here: Rows = start.map(|row| row.add(block * T::BYTES));
                T::unpack(&here, Place::<T, EIGHTS>::new(to.as_mut_ptr(), index));
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
unsafe fn tile<T: SuperBlock, const EIGHTS: usize, const N: usize>(
    panel: *const u8,
    cols: usize,
    x: &Activations,
    first: usize,
    y: &Output,
    rows: usize,
    next: *const u8,
) -> usize {
    let at = A32Offsets::of(cols);
    let supers = cols / SUPER;
    let mut sums = [Sums::zero(); N];
    // SAFETY: the tokens' rows lie in their slice, the super-blocks in the panel.
    unsafe {
        let x: [*const u8; N] = std::array::from_fn(|t| x.data.as_ptr().add((first + t) * x.stride));
        for index in 0..supers {
            if !next.is_null() {
                let bytes = 8 * EIGHTS * T::BYTES;
                prefetch(next.wrapping_add(index * bytes), bytes, supers * bytes);
            }
            let panel = panel.add(index * Place::<T, EIGHTS>::BYTES);
            multiply::<T, EIGHTS, N>(panel, &x, &at, index, &mut sums);
        }
        for t in 0..N {
            for e in 0..EIGHTS.min(rows.div_ceil(8)) {
                let to = y.ptr.add((first + t) * y.stride + 8 * e);
                store_lanes(to, sums[t].product::<T>(e), rows - 8 * e);
            }
        }
    }
    N
}

/// The two chains of a token over super-blocks, for up to two times eight rows.
#[derive(Clone, Copy)]
struct Sums {
    acc: [__m256; 2],
    min: [__m256; 2],
}

impl Sums {
    #[inline]
    #[target_feature(enable = "avx2")]
    fn zero() -> Sums {
        let zero = [_mm256_setzero_ps(); 2];
        Sums { acc: zero, min: zero }
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn product<T: SuperBlock>(&self, eight: usize) -> __m256 {
        if T::MINIMA > 0 { _mm256_sub_ps(self.acc[eight], self.min[eight]) } else { self.acc[eight] }
    }
}

/// A super-block of `EIGHTS` times eight rows, unpacked at `at`, times super-block `index` of `N` tokens.
///
/// # Safety
/// The CPU has the instructions; the super-blocks are there.
#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
unsafe fn multiply<T: SuperBlock, const EIGHTS: usize, const N: usize>(
    panel: *const u8,
    x: &[*const u8; N],
    at: &A32Offsets,
    index: usize,
    sums: &mut [Sums; N],
) {
    let mut chain = [[_mm256_setzero_ps(); 2]; N];
    // SAFETY: the caller's.
    unsafe {
        for block in 0..BLOCKS {
            let here = panel.add(block * Place::<T, EIGHTS>::BLOCK);
            let word = |t: usize, array: usize| x[t].add(array + 4 * (BLOCKS * index + block));
            let integers = integers::<T, EIGHTS, N>(here, x, BLOCKS * index + block, at);
            for t in 0..N {
                let dx = _mm256_set1_ps(word(t, at.d).cast::<f32>().read_unaligned());
                for e in 0..EIGHTS {
                    let integer = _mm256_cvtepi32_ps(integers[t][e]);
                    chain[t][e] = _mm256_fmadd_ps(integer, dx, chain[t][e]);
                }
            }
        }
        let minima = panel.add(BLOCKS * Place::<T, EIGHTS>::BLOCK).cast::<f32>();
        let scales = minima.add(8 * EIGHTS * BLOCKS * T::MINIMA);
        for t in 0..N {
            for e in 0..EIGHTS {
                let d = _mm256_load_ps(scales.add(8 * e));
                sums[t].acc[e] = _mm256_fmadd_ps(chain[t][e], d, sums[t].acc[e]);
            }
        }
        if T::MINIMA == 0 {
            return;
        }
        let mut chain = [[_mm256_setzero_ps(); 2]; N];
        for block in 0..BLOCKS {
            for m in 0..T::MINIMA {
                for t in 0..N {
                    let word = |array: usize| x[t].add(array + 4 * (BLOCKS * index + block));
                    let s = if T::MINIMA == 1 {
                        word(at.s).cast::<f32>().read_unaligned()
                    } else {
                        let sum = word(at.sum).cast::<[i16; 2]>().read_unaligned()[m];
                        word(at.d).cast::<f32>().read_unaligned() * f32::from(sum)
                    };
                    for e in 0..EIGHTS {
                        let minimum = _mm256_load_ps(minima.add(8 * ((block * T::MINIMA + m) * EIGHTS + e)));
                        chain[t][e] = _mm256_fmadd_ps(minimum, _mm256_set1_ps(s), chain[t][e]);
                    }
                }
            }
        }
        for t in 0..N {
            for e in 0..EIGHTS {
                let dmin = _mm256_load_ps(scales.add(8 * (EIGHTS + e)));
                sums[t].min[e] = _mm256_fmadd_ps(chain[t][e], dmin, sums[t].min[e]);
            }
        }
    }
}

/// The exact integers of a block of 32.
///
/// # Safety
/// As [`multiply`].
#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
unsafe fn integers<T: SuperBlock, const EIGHTS: usize, const N: usize>(
    panel: *const u8,
    x: &[*const u8; N],
    block: usize,
    at: &A32Offsets,
) -> [[__m256i; 2]; N] {
    let groups = 8 / T::PARTS;
    let mut integers = [[_mm256_setzero_si256(); 2]; N];
    // SAFETY: the caller's.
    unsafe {
        let scales = panel.add(8 * Place::<T, EIGHTS>::GROUP).cast::<__m256i>();
        for part in 0..T::PARTS {
            // Up to two eights of one vector or one of two.
            let mut sums = [[_mm256_setzero_si256(); 2]; N];
            for group in part * groups..(part + 1) * groups {
                let mut weights = [_mm256_setzero_si256(); 2];
                for v in 0..EIGHTS * T::VECTORS {
                    let vector = panel.add(group * Place::<T, EIGHTS>::GROUP).cast::<__m256i>().add(v);
                    weights[v] = _mm256_load_si256(vector);
                }
                for t in 0..N {
                    let x = x[t].add(32 * block + 4 * group).cast::<i32>().read_unaligned();
                    let x = _mm256_set1_epi32(x);
                    for v in 0..EIGHTS * T::VECTORS {
                        sums[t][v] = _mm256_add_epi16(sums[t][v], _mm256_maddubs_epi16(weights[v], x));
                        if N > 1 {
                            sums[t][v] = in_register(sums[t][v]);
                        }
                    }
                }
            }
            for e in 0..EIGHTS {
                for vector in 0..T::VECTORS {
                    let index = if T::VECTORS == 1 { part * T::SCALES / T::PARTS } else { vector };
                    let scale = _mm256_load_si256(scales.add(index * EIGHTS + e));
                    for t in 0..N {
                        let product = _mm256_madd_epi16(sums[t][e * T::VECTORS + vector], scale);
                        integers[t][e] = _mm256_add_epi32(integers[t][e], product);
                    }
                }
            }
        }
        if T::OFFSET {
            for t in 0..N {
                let sum = x[t].add(at.sum + 4 * block).cast::<i32>().read_unaligned();
                let sum = _mm256_set1_epi32(sum);
                for e in 0..EIGHTS {
                    let offset = _mm256_load_si256(scales.add(T::SCALES * EIGHTS + e));
                    integers[t][e] = _mm256_add_epi32(integers[t][e], _mm256_madd_epi16(sum, offset));
                }
            }
        }
    }
    integers
}
