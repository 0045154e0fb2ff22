//! Blocks of 256: a super-block of eight or sixteen rows is unpacked, all tokens multiply it while it
//! lies in the first-level cache, then comes the next super-block of these rows.

use std::arch::x86_64::*;
use std::ops::Range;

use graph::DType;

use super::block32::Rows;
use super::lanes::{ahead, store_lanes};
use super::panel::{ALIGN, TOKENS_BYTES, TOKENS_MIN, in_register};
use super::super_block::{BLOCKS, Place, SuperBlock};
use crate::matmul::super_block::SUPER;
use crate::matmul::{Activations, Output, Weights};
use crate::quantize::A32Offsets;

/// Tokens that pass over the rows together: their activations stay in the second-level cache.
fn tokens_step(cols: usize) -> usize {
    (TOKENS_BYTES / DType::A32.row_bytes(cols).max(1)).max(TOKENS_MIN)
}

pub(super) fn scratch_bytes<T: SuperBlock>(cols: usize, tokens: usize) -> usize {
    let unpacked = if T::VECTORS == 1 { Place::<T, 2>::BYTES } else { Place::<T, 1>::BYTES };
    unpacked + tokens.min(tokens_step(cols)) * size_of::<Sums>() + ALIGN
}

/// # Safety
/// As [`super::matmul`].
pub(super) unsafe fn matmul<T: SuperBlock>(
    w: &Weights,
    rows: Range<usize>,
    x: &Activations,
    y: &Output,
    scratch: &mut [u8],
) {
    let step = tokens_step(w.cols);
    for token in (0..x.tokens).step_by(step) {
        let tokens = token..x.tokens.min(token + step);
        // SAFETY: the caller's; the tokens are some of all.
        unsafe {
            if T::VECTORS == 1 {
                pass::<T, 2>(w, rows.clone(), x, tokens, y, scratch);
            } else {
                pass::<T, 1>(w, rows.clone(), x, tokens, y, scratch);
            }
        }
    }
}

/// All rows times a range of tokens.
///
/// # Safety
/// As [`matmul`]; the tokens exist and are at most [`tokens_step`].
#[target_feature(enable = "avx2,fma,f16c")]
unsafe fn pass<T: SuperBlock, const EIGHTS: usize>(
    w: &Weights,
    rows: Range<usize>,
    x: &Activations,
    tokens: Range<usize>,
    y: &Output,
    scratch: &mut [u8],
) {
    let skip = scratch.as_ptr().align_offset(ALIGN);
    let (unpacked, sums) = scratch[skip..].split_at_mut(Place::<T, EIGHTS>::BYTES);
    let sums = &mut sums[..tokens.len() * size_of::<Sums>()];
    let (unpacked, sums) = (unpacked.as_mut_ptr(), sums.as_mut_ptr().cast::<Sums>());
    let supers = w.cols / SUPER;
    let row_bytes = supers * T::BYTES;
    let at = A32Offsets::of(w.cols);
    // SAFETY: rows and tokens lie in their slices, unpacked super-block and sums in the scratch. Of
    // the last rows the pointers repeat the last, so that eight can be read; their lanes are not stored.
    unsafe {
        for row in rows.clone().step_by(8 * EIGHTS) {
            for t in 0..tokens.len() {
                sums.add(t).write(Sums::zero());
            }
            let next = w.data.as_ptr().wrapping_add(row * row_bytes + ahead(8 * EIGHTS * row_bytes));
            let mut starts = [[std::ptr::null(); 8]; EIGHTS];
            for (lane, start) in starts.as_flattened_mut().iter_mut().enumerate() {
                *start = w.data.as_ptr().add((row + lane).min(rows.end - 1) * row_bytes);
            }
            for index in 0..supers {
                for eight in 0..EIGHTS {
                    let here: Rows = starts[eight].map(|row| row.add(index * T::BYTES));
                    let next = next.wrapping_add((EIGHTS * index + eight) * 8 * T::BYTES);
                    T::unpack(&here, Place::<T, EIGHTS>::new(unpacked, eight, next));
                }
                let mut t = 0;
                while t < tokens.len() {
                    let (first, sums) = (tokens.start + t, sums.add(t));
                    // With several parts the integers of four tokens would not stay in registers.
                    t += match (T::PARTS, tokens.len() - t) {
                        (_, 1) => tile::<T, EIGHTS, 1>(unpacked, x, first, &at, index, sums),
                        (_, 2) => tile::<T, EIGHTS, 2>(unpacked, x, first, &at, index, sums),
                        (_, 3) | (2.., _) => tile::<T, EIGHTS, 3>(unpacked, x, first, &at, index, sums),
                        _ => tile::<T, EIGHTS, 4>(unpacked, x, first, &at, index, sums),
                    };
                }
            }
            let count = rows.end - row;
            for t in 0..tokens.len() {
                for e in 0..EIGHTS.min(count.div_ceil(8)) {
                    let to = y.ptr.add((tokens.start + t) * y.stride + row - rows.start + 8 * e);
                    store_lanes(to, (*sums.add(t)).product::<T>(e), count - 8 * e);
                }
            }
        }
    }
}

/// The unpacked super-block times that of `N` tokens. Returns `N`.
///
/// # Safety
/// The CPU has the instructions; tokens and sums are there.
#[inline(never)] // A function of its own in profiles.
#[target_feature(enable = "avx2,fma,f16c")]
unsafe fn tile<T: SuperBlock, const EIGHTS: usize, const N: usize>(
    unpacked: *const u8,
    x: &Activations,
    first: usize,
    at: &A32Offsets,
    index: usize,
    sums: *mut Sums,
) -> usize {
    // SAFETY: the caller's.
    unsafe {
        let x: [*const u8; N] = std::array::from_fn(|t| x.data.as_ptr().add((first + t) * x.stride));
        multiply::<T, EIGHTS, N>(unpacked, &x, at, index, &mut *sums.cast::<[Sums; N]>());
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

/// A super-block of `EIGHTS` times eight rows, unpacked, times super-block `index` of `N` tokens.
///
/// # Safety
/// The CPU has the instructions; the super-blocks are there.
#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
unsafe fn multiply<T: SuperBlock, const EIGHTS: usize, const N: usize>(
    unpacked: *const u8,
    x: &[*const u8; N],
    at: &A32Offsets,
    index: usize,
    sums: &mut [Sums; N],
) {
    let mut chain = [[_mm256_setzero_ps(); 2]; N];
    // SAFETY: the caller's.
    unsafe {
        for block in 0..BLOCKS {
            let here = unpacked.add(block * Place::<T, EIGHTS>::BLOCK);
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
        let scales = unpacked.add(BLOCKS * Place::<T, EIGHTS>::BLOCK).cast::<f32>();
        let scales = scales.add(8 * EIGHTS * BLOCKS * T::MINIMA);
        for t in 0..N {
            for e in 0..EIGHTS {
                let d = _mm256_load_ps(scales.add(8 * e));
                sums[t].acc[e] = _mm256_fmadd_ps(chain[t][e], d, sums[t].acc[e]);
            }
        }
    }
    if T::MINIMA > 0 {
        // SAFETY: the same conditions.
        unsafe { multiply_minima::<T, EIGHTS, N>(unpacked, x, at, index, sums) }
    }
}

/// The minima's part of [`multiply`]: a loop of its own has room for its chains in registers.
///
/// # Safety
/// As [`multiply`], of a type with minima.
#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
unsafe fn multiply_minima<T: SuperBlock, const EIGHTS: usize, const N: usize>(
    unpacked: *const u8,
    x: &[*const u8; N],
    at: &A32Offsets,
    index: usize,
    sums: &mut [Sums; N],
) {
    let mut chain = [[_mm256_setzero_ps(); 2]; N];
    // SAFETY: the caller's.
    unsafe {
        let minima = unpacked.add(BLOCKS * Place::<T, EIGHTS>::BLOCK).cast::<f32>();
        let scales = minima.add(8 * EIGHTS * (BLOCKS * T::MINIMA + 1));
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
                let dmin = _mm256_load_ps(scales.add(8 * e));
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
    unpacked: *const u8,
    x: &[*const u8; N],
    block: usize,
    at: &A32Offsets,
) -> [[__m256i; 2]; N] {
    let groups = 8 / T::PARTS;
    let mut integers = [[_mm256_setzero_si256(); 2]; N];
    // SAFETY: the caller's.
    unsafe {
        let scales = unpacked.add(8 * Place::<T, EIGHTS>::GROUP).cast::<__m256i>();
        for part in 0..T::PARTS {
            // Up to two eights of one vector or one of two.
            let mut sums = [[_mm256_setzero_si256(); 2]; N];
            for group in part * groups..(part + 1) * groups {
                let mut weights = [_mm256_setzero_si256(); 2];
                for v in 0..EIGHTS * T::VECTORS {
                    let vector = unpacked.add(group * Place::<T, EIGHTS>::GROUP).cast::<__m256i>().add(v);
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
