//! Panel after panel: eight rows times 256 columns are unpacked, all tokens multiply them while they lie in the
//! first-level cache, then come the next columns of these rows.

use std::ops::Range;

use graph::DType;

use super::panel::{BLOCKS, Kind, Panel, ROWS, Rows};
use super::store_lanes;
use super::tile::{Sums, multiply};
use crate::matmul::{Activations, Output, Weights};
use crate::quantize::A32Offsets;

/// Bytes of activations that are used again and again while they lie in the second-level cache.
const TOKENS_BYTES: usize = 256 << 10;
/// So many tokens multiply a panel in any case, to be worth the unpacking.
const TOKENS_MIN: usize = 64;

/// Tokens that pass over the rows together.
fn tokens_step(cols: usize) -> usize {
    (TOKENS_BYTES / DType::A32.row_bytes(cols).max(1)).max(TOKENS_MIN)
}

pub(super) fn scratch_bytes(cols: usize, tokens: usize) -> usize {
    size_of::<Panel>() + tokens.min(tokens_step(cols)) * size_of::<Sums>() + align_of::<Panel>()
}

/// # Safety
/// As [`super::matmul`].
#[target_feature(enable = "neon,dotprod")]
pub(super) unsafe fn matmul<T: Kind>(
    w: &Weights,
    rows: Range<usize>,
    x: &Activations,
    y: &Output,
    scratch: &mut [u8],
) {
    let step = tokens_step(w.cols);
    for token in (0..x.tokens).step_by(step) {
        // SAFETY: the caller's; the tokens are some of all.
        unsafe { pass::<T>(w, rows.clone(), x, token..x.tokens.min(token + step), y, scratch) };
    }
}

/// All rows times a range of tokens.
///
/// # Safety
/// As [`matmul`]; the tokens exist and are at most [`tokens_step`].
#[target_feature(enable = "neon,dotprod")]
unsafe fn pass<T: Kind>(
    w: &Weights,
    rows: Range<usize>,
    x: &Activations,
    tokens: Range<usize>,
    y: &Output,
    scratch: &mut [u8],
) {
    let skip = scratch.as_ptr().align_offset(align_of::<Panel>());
    let (panel, sums) = scratch[skip..].split_at_mut(size_of::<Panel>());
    let sums = &mut sums[..tokens.len() * size_of::<Sums>()];
    // SAFETY: the bytes are borrowed exclusively, aligned, enough, and any bytes are a panel and are sums.
    let (panel, sums) = unsafe {
        let sums = std::slice::from_raw_parts_mut(sums.as_mut_ptr().cast::<Sums>(), tokens.len());
        (&mut *panel.as_mut_ptr().cast::<Panel>(), sums)
    };
    let blocks = w.cols / 32;
    let row_bytes = w.dtype.row_bytes(w.cols);
    let at = A32Offsets::of(w.cols);
    for row in rows.clone().step_by(ROWS) {
        sums.fill(Sums::zero());
        // SAFETY: rows and tokens lie in their slices. Of the last rows the pointers repeat the last, so that
        // eight can be read; their lanes are not stored.
        unsafe {
            let start: Rows =
                std::array::from_fn(|r| w.data.as_ptr().add((row + r).min(rows.end - 1) * row_bytes));
            for first in (0..blocks).step_by(BLOCKS) {
                let count = BLOCKS.min(blocks - first);
                T::unpack(&start.map(|row| row.add(first / BLOCKS * T::STORED)), count, panel);
                let mut done = 0;
                while done < sums.len() {
                    let (token, sums) = (tokens.start + done, &mut sums[done..]);
                    done += match sums.len() {
                        1 => some::<T, 1>(panel, x, token, &at, first, count, sums),
                        2 => some::<T, 2>(panel, x, token, &at, first, count, sums),
                        3 => some::<T, 3>(panel, x, token, &at, first, count, sums),
                        _ => some::<T, 4>(panel, x, token, &at, first, count, sums),
                    };
                }
            }
            for (token, sums) in tokens.clone().zip(&*sums) {
                let to = y.ptr.add(token * y.stride + row - rows.start);
                store_lanes(to, sums.products::<T>(), rows.end - row);
            }
        }
    }
}

/// The panel, `count` blocks from `first` on, times `N` tokens from `token` on. Returns `N`.
///
/// # Safety
/// As [`multiply`]; the tokens exist, and `sums` begins with theirs.
#[target_feature(enable = "neon,dotprod")]
unsafe fn some<T: Kind, const N: usize>(
    panel: &Panel,
    x: &Activations,
    token: usize,
    at: &A32Offsets,
    first: usize,
    count: usize,
    sums: &mut [Sums],
) -> usize {
    let (sums, _) = sums.split_first_chunk_mut::<N>().expect("there are sums for each token");
    // SAFETY: the caller's.
    unsafe {
        let x: [*const u8; N] = std::array::from_fn(|t| x.data.as_ptr().add((token + t) * x.stride));
        multiply::<T, N>(panel, x, at, first, count, sums);
    }
    N
}
