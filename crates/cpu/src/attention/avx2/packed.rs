//! Scores of many rows, from keys that were packed with positions as lanes.

use std::arch::x86_64::*;
use std::ops::Range;

use super::super::{PAGE, RANGE};
use super::load::{by_dtype, eight, one};
use super::pages::Pages;
use super::{Buffers, Run, TILE, tiles};

/// Positions that are lanes side by side in packed keys.
const LANES: usize = 16;
/// Positions whose packed keys all rows use before the next ones: 16 KiB with heads of 64.
const NEAR: usize = 64;

/// Writes the keys as floats with positions as lanes: (RANGE / 16, head_dim, 16).
///
/// Lanes outside a page's span repeat a key of the span, so that only keys that some token sees are
/// read; pages without a span stay as they are.
///
/// # Safety
/// The pages are readable, `packed` has RANGE * head_dim elements, the CPU has AVX2 and F16C.
#[target_feature(enable = "avx2,fma,f16c")]
pub unsafe fn pack(keys: &Pages, packed: &mut [f32]) {
    assert!(packed.len() >= RANGE * keys.head_dim);
    // SAFETY: the caller's promise.
    unsafe { by_dtype!(keys.dtype, pack_as(keys, packed)) }
}

/// # Safety
/// As [`pack`]; the keys are of type `TYPE`.
#[target_feature(enable = "avx2,fma,f16c")]
unsafe fn pack_as<const TYPE: u8>(keys: &Pages, packed: &mut [f32]) {
    let dim = keys.head_dim;
    for (page, span) in keys.spans.iter().enumerate() {
        if span.is_empty() {
            continue;
        }
        let eights = (page * PAGE..(page + 1) * PAGE).step_by(8);
        for position in eights.filter(|p| *p < span.end && *p + 8 > span.start) {
            // SAFETY: the rows lie in the span; eight lanes of `dim` elements lie in `packed`.
            unsafe {
                let rows = keys.eight_rows(span, position);
                let out = packed.as_mut_ptr().add(position / LANES * LANES * dim + position % LANES);
                for d in (0..dim / 8 * 8).step_by(8) {
                    let columns = transpose(rows.map(|row| eight::<TYPE>(row, d)));
                    for (i, column) in columns.into_iter().enumerate() {
                        _mm256_storeu_ps(out.add((d + i) * LANES), column);
                    }
                }
                for d in dim / 8 * 8..dim {
                    for (lane, row) in rows.into_iter().enumerate() {
                        *out.add(d * LANES + lane) = one(keys.dtype, row, d);
                    }
                }
            }
        }
    }
}

/// Rows to columns.
#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
fn transpose(r: [__m256; 8]) -> [__m256; 8] {
    // Pairs of rows, then fours, within halves of a register; then the halves.
    let mut fours = [_mm256_setzero_ps(); 8];
    for i in [0, 4] {
        let low01 = _mm256_unpacklo_ps(r[i], r[i + 1]);
        let high01 = _mm256_unpackhi_ps(r[i], r[i + 1]);
        let low23 = _mm256_unpacklo_ps(r[i + 2], r[i + 3]);
        let high23 = _mm256_unpackhi_ps(r[i + 2], r[i + 3]);
        fours[i] = _mm256_shuffle_ps::<0b01_00_01_00>(low01, low23);
        fours[i + 1] = _mm256_shuffle_ps::<0b11_10_11_10>(low01, low23);
        fours[i + 2] = _mm256_shuffle_ps::<0b01_00_01_00>(high01, high23);
        fours[i + 3] = _mm256_shuffle_ps::<0b11_10_11_10>(high01, high23);
    }
    let mut columns = fours;
    for i in 0..4 {
        columns[i] = _mm256_permute2f128_ps::<0x20>(fours[i], fours[i + 4]);
        columns[i + 4] = _mm256_permute2f128_ps::<0x31>(fours[i], fours[i + 4]);
    }
    columns
}

/// Scores of all rows of the run from packed keys; those of positions that a row does not see are
/// undefined.
///
/// # Safety
/// The queries exist, `buffers.range` holds what [`pack`] wrote, the CPU has AVX2 and FMA.
#[target_feature(enable = "avx2,fma,f16c")]
pub unsafe fn scores(run: &Run, first: usize, buffers: &mut Buffers) {
    let dim = run.task.head_dim;
    let keys = &buffers.range[..RANGE * dim];
    // All rows use a few keys before the next ones: those stay in the nearest cache.
    for begin in (0..RANGE).step_by(NEAR) {
        for tile in tiles(run.rows()) {
            let row = tile.start;
            let mut seen = begin + NEAR..begin;
            for row in tile.clone() {
                let row = run.seen(row, first);
                let (start, end) = (row.start.max(begin), row.end.min(begin + NEAR));
                if start < end {
                    seen = seen.start.min(start)..seen.end.max(end);
                }
            }
            let scores = &mut buffers.scores[tile.start * RANGE..tile.end * RANGE];
            // SAFETY: the queries exist; the scores of the tile are rows of RANGE.
            unsafe {
                match tile.len() {
                    1 => packed_tile::<1>(run, row, keys, seen, scores),
                    2 => packed_tile::<2>(run, row, keys, seen, scores),
                    _ => packed_tile::<TILE>(run, row, keys, seen, scores),
                }
            }
        }
    }
}

type Tile<const R: usize> = [[__m256; 2]; R];

/// Scores of `R` rows from `row` on, at the positions `seen` and others of their blocks of 16.
///
/// Lanes are positions, so a partial sum is a register; the tree adds registers.
///
/// # Safety
/// The queries of the rows exist; the CPU has AVX2 and FMA.
#[target_feature(enable = "avx2,fma,f16c")]
unsafe fn packed_tile<const R: usize>(
    run: &Run,
    row: usize,
    keys: &[f32],
    seen: Range<usize>,
    scores: &mut [f32],
) {
    let dim = run.task.head_dim;
    // SAFETY: the caller's promise.
    let q: [*const f32; R] =
        std::array::from_fn(|i| unsafe { run.task.query(run.token(row + i), run.head(row + i)) });
    let scale = _mm256_set1_ps(run.task.scale);
    for position in (seen.start / LANES * LANES..seen.end).step_by(LANES) {
        let keys = keys[position * dim..(position + LANES) * dim].as_ptr();
        // SAFETY: the queries have `dim` elements, and so has the block of keys for 16 positions.
        let sums = unsafe { block(&q, keys, dim) };
        for (sums, scores) in sums.into_iter().zip(scores.chunks_exact_mut(RANGE)) {
            let scores = scores[position..position + LANES].as_mut_ptr();
            // SAFETY: the scores are 16 elements.
            unsafe {
                _mm256_storeu_ps(scores, _mm256_mul_ps(sums[0], scale));
                _mm256_storeu_ps(scores.add(8), _mm256_mul_ps(sums[1], scale));
            }
        }
    }
}

#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
fn add<const R: usize>(mut a: Tile<R>, b: Tile<R>) -> Tile<R> {
    for (a, b) in a.iter_mut().zip(b) {
        *a = [_mm256_add_ps(a[0], b[0]), _mm256_add_ps(a[1], b[1])];
    }
    a
}

/// Scores of `R` queries at 16 positions, not yet scaled.
///
/// # Safety
/// The queries have `dim` elements, `keys` is (dim, 16); the CPU has AVX2 and FMA.
#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
unsafe fn block<const R: usize>(q: &[*const f32; R], keys: *const f32, dim: usize) -> Tile<R> {
    // The order in which the tree meets the sums of two partial sums. Each is added to the sums of as
    // many that wait, as a carry is when counting in binary. (Eight copies of the loop in
    // `partial_sums`, with the tree written out, are slower.)
    const ORDER: [usize; 8] = [0, 4, 2, 6, 1, 5, 3, 7];
    let mut waiting = [[[_mm256_setzero_ps(); 2]; R]; 3];
    let mut sums = waiting[0];
    for (i, k) in ORDER.into_iter().enumerate() {
        // SAFETY: the caller's promise.
        sums = unsafe { partial_sums(q, keys, dim, k) };
        let carries = i.trailing_ones() as usize;
        for waiting in &waiting[..carries] {
            sums = add(*waiting, sums);
        }
        if let Some(free) = waiting.get_mut(carries) {
            *free = sums;
        }
    }
    sums
}

/// Partial sum `k` plus partial sum `k + 8`.
///
/// # Safety
/// The queries have `dim` elements, `keys` is (dim, 16); the CPU has AVX2 and FMA.
#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
unsafe fn partial_sums<const R: usize>(
    q: &[*const f32; R],
    keys: *const f32,
    dim: usize,
    k: usize,
) -> Tile<R> {
    let mut low = [[_mm256_setzero_ps(); 2]; R];
    let mut high = low;
    let step = |sums: &mut Tile<R>, d: usize| {
        // SAFETY: d < dim.
        unsafe {
            let k0 = _mm256_loadu_ps(keys.add(d * LANES));
            let k1 = _mm256_loadu_ps(keys.add(d * LANES + 8));
            for (sums, q) in sums.iter_mut().zip(q) {
                let q = _mm256_set1_ps(*q.add(d));
                sums[0] = _mm256_fmadd_ps(q, k0, sums[0]);
                sums[1] = _mm256_fmadd_ps(q, k1, sums[1]);
            }
        }
    };
    let mut d = k;
    while d + 8 < dim {
        step(&mut low, d);
        step(&mut high, d + 8);
        d += 16;
    }
    if d < dim {
        step(&mut low, d);
    }
    add(low, high)
}
