//! Float weights: 16 partial sums a product in two registers, tiles of rows and tokens.

use std::arch::x86_64::*;
use std::ops::Range;

use graph::DType;
use half::{bf16, f16};

use super::lanes::prefetch;
use crate::matmul::{Activations, Output, Weights};

/// Partial sums of a product.
const PARTS: usize = 16;

/// Bytes of rows that are used again and again while they lie in the second-level cache; three
/// tokens stay in the first.
const ROWS_BYTES: usize = 256 << 10;

/// Bytes of activations that are used again and again while they lie in the second-level cache.
const TOKENS_BYTES: usize = 384 << 10;

/// A type of float weights.
pub(super) trait Float {
    const DTYPE: DType;

    /// # Safety
    /// The CPU has AVX2 and F16C, and eight elements can be read.
    unsafe fn eight(at: *const u8) -> __m256;

    /// # Safety
    /// One element can be read.
    unsafe fn one(at: *const u8) -> f32;
}

pub(super) struct F32;
pub(super) struct F16;
pub(super) struct BF16;

impl Float for F32 {
    const DTYPE: DType = DType::F32;

    #[inline]
    #[target_feature(enable = "avx2,fma,f16c")]
    unsafe fn eight(at: *const u8) -> __m256 {
        // SAFETY: the caller's.
        unsafe { _mm256_loadu_ps(at.cast()) }
    }

    #[inline]
    unsafe fn one(at: *const u8) -> f32 {
        // SAFETY: the caller's.
        unsafe { at.cast::<f32>().read_unaligned() }
    }
}

impl Float for F16 {
    const DTYPE: DType = DType::F16;

    #[inline]
    #[target_feature(enable = "avx2,fma,f16c")]
    unsafe fn eight(at: *const u8) -> __m256 {
        // SAFETY: the caller's.
        _mm256_cvtph_ps(unsafe { _mm_loadu_si128(at.cast()) })
    }

    #[inline]
    unsafe fn one(at: *const u8) -> f32 {
        // SAFETY: the caller's.
        f16::from_bits(unsafe { at.cast::<u16>().read_unaligned() }).to_f32()
    }
}

impl Float for BF16 {
    const DTYPE: DType = DType::BF16;

    #[inline]
    #[target_feature(enable = "avx2,fma,f16c")]
    unsafe fn eight(at: *const u8) -> __m256 {
        // SAFETY: the caller's.
        let bits = _mm256_cvtepu16_epi32(unsafe { _mm_loadu_si128(at.cast()) });
        _mm256_castsi256_ps(_mm256_slli_epi32::<16>(bits))
    }

    #[inline]
    unsafe fn one(at: *const u8) -> f32 {
        // SAFETY: the caller's.
        bf16::from_bits(unsafe { at.cast::<u16>().read_unaligned() }).to_f32()
    }
}

/// # Safety
/// As [`super::matmul`].
#[target_feature(enable = "avx2,fma,f16c")]
pub(super) unsafe fn matmul<F: Float>(w: &Weights, rows: Range<usize>, x: &Activations, y: &Output) {
    let row_bytes = F::DTYPE.row_bytes(w.cols);
    let rows_step = (ROWS_BYTES / row_bytes.max(1)).max(4) & !3;
    let tokens_step = (TOKENS_BYTES / (4 * w.cols.max(1))).max(24) / 3 * 3;
    for token in (0..x.tokens).step_by(tokens_step) {
        let tokens = token..x.tokens.min(token + tokens_step);
        for row in rows.clone().step_by(rows_step) {
            let count = rows_step.min(rows.end - row);
            // SAFETY: ranges of rows and tokens lie in their slices and in the output.
            unsafe {
                let from = w.data.as_ptr().add(row * row_bytes);
                let to = Output { ptr: y.ptr.add(row - rows.start), stride: y.stride };
                multiply::<F>(from, count, w.cols, x, tokens.clone(), &to);
            }
        }
    }
}

/// A block of rows times a range of tokens.
///
/// # Safety
/// The CPU has the instructions; rows, tokens and output are there.
#[target_feature(enable = "avx2,fma,f16c")]
unsafe fn multiply<F: Float>(
    w: *const u8,
    rows: usize,
    cols: usize,
    x: &Activations,
    tokens: Range<usize>,
    y: &Output,
) {
    let mut token = tokens.start;
    // SAFETY: the caller's.
    unsafe {
        while token < tokens.end {
            let ahead = token == tokens.start;
            token += match tokens.end - token {
                1 => rows_times::<F, 4, 1>(w, rows, cols, x, token, y, ahead),
                2 => rows_times::<F, 2, 2>(w, rows, cols, x, token, y, ahead),
                _ => rows_times::<F, 2, 3>(w, rows, cols, x, token, y, ahead),
            };
        }
    }
}

/// All rows, `R` at a time, times tokens `first..first + N`. Returns `N`. With `ahead` rows are
/// asked for before they are needed.
///
/// # Safety
/// As [`multiply`].
#[target_feature(enable = "avx2,fma,f16c")]
unsafe fn rows_times<F: Float, const R: usize, const N: usize>(
    w: *const u8,
    rows: usize,
    cols: usize,
    x: &Activations,
    first: usize,
    y: &Output,
    ahead: bool,
) -> usize {
    let row_bytes = F::DTYPE.row_bytes(cols);
    let mut row = 0;
    // SAFETY: the caller's.
    unsafe {
        let x: [*const u8; N] = std::array::from_fn(|t| x.data.as_ptr().add((first + t) * x.stride));
        while row < rows {
            let w = w.add(row * row_bytes);
            let to = Output { ptr: y.ptr.add(first * y.stride + row), stride: y.stride };
            row += if rows - row >= R {
                tile::<F, R, N>(std::array::from_fn(|r| w.add(r * row_bytes)), cols, &x, &to, ahead)
            } else {
                tile::<F, 1, N>([w], cols, &x, &to, ahead)
            };
        }
    }
    N
}

/// `R` rows times `N` tokens. Returns `R`.
///
/// # Safety
/// As [`multiply`].
#[target_feature(enable = "avx2,fma,f16c")]
unsafe fn tile<F: Float, const R: usize, const N: usize>(
    w: [*const u8; R],
    cols: usize,
    x: &[*const u8; N],
    y: &Output,
    ahead: bool,
) -> usize {
    let bytes = F::DTYPE.block_bytes();
    let next = w[0].wrapping_add(R * bytes * cols);
    let mut parts = [[[_mm256_setzero_ps(); 2]; N]; R];
    let whole = cols / PARTS * PARTS;
    // SAFETY: elements below `cols` are there.
    unsafe {
        for k in (0..whole).step_by(PARTS) {
            if ahead {
                prefetch(next.wrapping_add(R * bytes * k), R * bytes * PARTS, R * bytes * cols);
            }
            for half in 0..2 {
                let at = k + 8 * half;
                let mut weights = [_mm256_setzero_ps(); R];
                for r in 0..R {
                    weights[r] = F::eight(w[r].add(bytes * at));
                }
                for t in 0..N {
                    let x = F32::eight(x[t].add(4 * at));
                    for r in 0..R {
                        parts[r][t][half] = _mm256_fmadd_ps(weights[r], x, parts[r][t][half]);
                    }
                }
            }
        }
        for r in 0..R {
            for t in 0..N {
                let mut parts = parts[r][t];
                if whole < cols {
                    let mut array = [0f32; PARTS];
                    _mm256_storeu_ps(array.as_mut_ptr(), parts[0]);
                    _mm256_storeu_ps(array.as_mut_ptr().add(8), parts[1]);
                    for k in whole..cols {
                        let (w, x) = (F::one(w[r].add(bytes * k)), F32::one(x[t].add(4 * k)));
                        array[k - whole] = w.mul_add(x, array[k - whole]);
                    }
                    parts = [_mm256_loadu_ps(array.as_ptr()), _mm256_loadu_ps(array.as_ptr().add(8))];
                }
                y.ptr.add(t * y.stride + r).write(tree(parts));
            }
        }
    }
    R
}

/// Adds what lies 8 apart, then 4, 2, 1.
#[inline]
#[target_feature(enable = "avx2")]
fn tree(parts: [__m256; 2]) -> f32 {
    let eight = _mm256_add_ps(parts[0], parts[1]);
    let four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps::<1>(eight));
    let two = _mm_add_ps(four, _mm_movehl_ps(four, four));
    let one = _mm_add_ss(two, _mm_movehdup_ps(two));
    _mm_cvtss_f32(one)
}
