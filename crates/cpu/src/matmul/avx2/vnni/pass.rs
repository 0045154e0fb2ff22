//! Some rows times some tokens: a panel is unpacked, all tokens multiply it while it lies in the
//! first-level cache, then comes the next panel of these rows.

use std::ops::Range;

use super::panel::Panel;
use super::vector::{Sums, Vector};
use crate::matmul::avx2::block32::Rows;
use crate::matmul::avx2::lanes::ahead;
use crate::matmul::avx2::panel::ALIGN;
use crate::matmul::avx2::super_block::BLOCKS;
use crate::matmul::{Activations, Output, Weights};
use crate::quantize::A32Offsets;

/// Panels of a pass: two registers of rows.
const fn panels<V: Vector>() -> usize {
    2 * V::LANES / 16
}

pub(super) const fn scratch_bytes<V: Vector, T: Panel>(tokens: usize) -> usize {
    panels::<V>() * T::BYTES + tokens * size_of::<Sums<V>>() + ALIGN
}

/// # Safety
/// As [`super::matmul`]; the tokens exist, and the scratch has [`scratch_bytes`] for so many.
#[inline(always)]
pub(super) unsafe fn pass<V: Vector, T: Panel>(
    w: &Weights,
    rows: Range<usize>,
    x: &Activations,
    tokens: Range<usize>,
    y: &Output,
    scratch: &mut [u8],
) {
    let skip = scratch.as_ptr().align_offset(ALIGN);
    let (panel, sums) = scratch[skip..].split_at_mut(panels::<V>() * T::BYTES);
    let sums = &mut sums[..tokens.len() * size_of::<Sums<V>>()];
    let (panel, sums) = (panel.as_mut_ptr(), sums.as_mut_ptr().cast::<Sums<V>>());
    let blocks = w.cols / 32;
    let stored = |blocks: usize| blocks * T::STORED / BLOCKS;
    let row_bytes = stored(blocks);
    let at = A32Offsets::of(w.cols);
    // SAFETY: rows and tokens lie in their slices, panel and sums in the scratch. Of the last rows the
    // pointers repeat the last, so that all can be read; their lanes are not stored.
    unsafe {
        let zero = [V::splat_float(0.0); 2];
        for row in rows.clone().step_by(2 * V::LANES) {
            for t in 0..tokens.len() {
                sums.add(t).write(Sums { acc: zero, min: zero });
            }
            let next = w.data.as_ptr().wrapping_add(row * row_bytes + ahead(2 * V::LANES * row_bytes));
            for block in (0..blocks).step_by(BLOCKS) {
                let count = BLOCKS.min(blocks - block);
                for eight in 0..2 * panels::<V>() {
                    let mut start: Rows = [std::ptr::null(); 8];
                    for (lane, start) in start.iter_mut().enumerate() {
                        let row = (row + 8 * eight + lane).min(rows.end - 1);
                        *start = w.data.as_ptr().add(row * row_bytes + stored(block));
                    }
                    let before = 2 * V::LANES * block + 8 * eight * count;
                    let next = next.wrapping_add(stored(before));
                    T::unpack(&start, count, panel.add(eight / 2 * T::BYTES), eight % 2, next);
                }
                let mut t = 0;
                while t < tokens.len() {
                    let (first, sums) = (tokens.start + t, sums.add(t));
                    let blocks = block..block + count;
                    // Not more than the registers hold.
                    t += match (tokens.len() - t).min(V::TOKENS[T::SCALES - 1]) {
                        1 => tokens_of::<V, T, 1>(panel, x, first, &at, blocks, sums),
                        2 => tokens_of::<V, T, 2>(panel, x, first, &at, blocks, sums),
                        3 => tokens_of::<V, T, 3>(panel, x, first, &at, blocks, sums),
                        4 | 5 => tokens_of::<V, T, 4>(panel, x, first, &at, blocks, sums),
                        _ => tokens_of::<V, T, 6>(panel, x, first, &at, blocks, sums),
                    };
                }
            }
            for t in 0..tokens.len() {
                let Sums { acc, min } = *sums.add(t);
                for v in 0..2.min((rows.end - row).div_ceil(V::LANES)) {
                    let first = row + v * V::LANES;
                    let to = y.ptr.add((tokens.start + t) * y.stride + first - rows.start);
                    let product = match (T::MINIMA > 0, T::SUPER) {
                        (false, _) => acc[v],
                        (true, false) => V::add(acc[v], min[v]),
                        (true, true) => V::sub(acc[v], min[v]),
                    };
                    V::store(to, product, rows.end - first);
                }
            }
        }
    }
}

/// The tile of tokens from `first` on. Returns `N`.
///
/// # Safety
/// As [`Vector::tile`].
#[inline(always)]
unsafe fn tokens_of<V: Vector, T: Panel, const N: usize>(
    panel: *const u8,
    x: &Activations,
    first: usize,
    at: &A32Offsets,
    blocks: Range<usize>,
    sums: *mut Sums<V>,
) -> usize {
    // SAFETY: the caller's.
    unsafe {
        let mut rows = [x.data.as_ptr(); N];
        for (t, row) in rows.iter_mut().enumerate() {
            *row = row.add((first + t) * x.stride);
        }
        V::tile::<T, N>(panel, rows, at, blocks, sums);
    }
    N
}
