//! A panel times some tokens.

use std::arch::aarch64::*;

use super::panel::{Kind, Panel, get_rows};
use crate::quantize::A32Offsets;
use crate::sdot::sdot_lane;

/// The two chains of a token over panels, for eight rows.
#[derive(Clone, Copy)]
pub(super) struct Sums {
    acc: [float32x4_t; 2],
    min: [float32x4_t; 2],
}

impl Sums {
    #[inline]
    #[target_feature(enable = "neon,dotprod")]
    pub fn zero() -> Sums {
        let zero = [vdupq_n_f32(0.0); 2];
        Sums { acc: zero, min: zero }
    }

    /// The products, once all panels of the rows have been multiplied.
    #[inline]
    #[target_feature(enable = "neon,dotprod")]
    pub fn products<T: Kind>(&self) -> [float32x4_t; 2] {
        let Sums { acc, min } = self;
        match (T::SUPER, T::MINIMA) {
            (_, 0) => *acc,
            (false, _) => [vaddq_f32(acc[0], min[0]), vaddq_f32(acc[1], min[1])],
            (true, _) => [vsubq_f32(acc[0], min[0]), vsubq_f32(acc[1], min[1])],
        }
    }
}

/// `count` blocks of 32 of a panel times those from `first` on of `N` tokens.
///
/// # Safety
/// The CPU has NEON with dot products; the tokens have the blocks.
#[target_feature(enable = "neon,dotprod")]
pub(super) unsafe fn multiply<T: Kind, const N: usize>(
    panel: &Panel,
    x: [*const u8; N],
    at: &A32Offsets,
    first: usize,
    count: usize,
    sums: &mut [Sums; N],
) {
    let zero = [vdupq_n_f32(0.0); 2];
    let mut acc: [_; N] = std::array::from_fn(|t| if T::SUPER { zero } else { sums[t].acc });
    let mut min: [_; N] = std::array::from_fn(|t| if T::SUPER { zero } else { sums[t].min });
    for block in 0..count {
        let word = |t: usize, array: usize| x[t].wrapping_add(array + 4 * (first + block));
        // SAFETY: the tokens have the block.
        let float = |t: usize, array: usize| unsafe { word(t, array).cast::<f32>().read_unaligned() };
        // SAFETY: the caller's.
        let products = unsafe { products::<T, N>(panel, block, x.map(|x| x.add(32 * (first + block)))) };
        let scale = get_rows(&panel.scales[block][0]);
        for t in 0..N {
            let dx = float(t, at.d);
            for v in 0..2 {
                acc[t][v] = if T::SUPER {
                    vfmaq_n_f32(acc[t][v], products[t][v], dx)
                } else {
                    vfmaq_f32(acc[t][v], products[t][v], vmulq_n_f32(scale[v], dx))
                };
            }
        }
        for m in 0..T::MINIMA {
            let minima = get_rows(&panel.minima[block][m]);
            for t in 0..N {
                let s = if T::MINIMA == 1 {
                    float(t, at.s)
                } else {
                    // SAFETY: as above.
                    let sums = unsafe { word(t, at.sum).cast::<[i16; 2]>().read_unaligned() };
                    float(t, at.d) * f32::from(sums[m])
                };
                for v in 0..2 {
                    min[t][v] = vfmaq_n_f32(min[t][v], minima[v], s);
                }
            }
        }
    }
    if !T::SUPER {
        for t in 0..N {
            sums[t] = Sums { acc: acc[t], min: min[t] };
        }
        return;
    }
    let (d, dmin) = (get_rows(&panel.d[0]), get_rows(&panel.d[1]));
    for t in 0..N {
        for v in 0..2 {
            sums[t].acc[v] = vfmaq_f32(sums[t].acc[v], acc[t][v], d[v]);
            if T::MINIMA > 0 {
                sums[t].min[v] = vfmaq_f32(sums[t].min[v], min[t][v], dmin[v]);
            }
        }
    }
}

/// The integers of a block of 32 as floats, in super-blocks with the scales in them. They and all sums
/// on the way are below 2^24, so float arithmetic is exact.
///
/// # Safety
/// As [`multiply`]; `x` points to the activations of the block.
#[inline]
#[target_feature(enable = "neon,dotprod")]
unsafe fn products<T: Kind, const N: usize>(
    panel: &Panel,
    block: usize,
    x: [*const u8; N],
) -> [[float32x4_t; 2]; N] {
    let mut integers = [[vdupq_n_s32(0); 2]; N];
    let mut products = [[vdupq_n_f32(0.0); 2]; N];
    for half in 0..2 {
        let mut half_x = [vdupq_n_s8(0); N];
        for t in 0..N {
            // SAFETY: the block has 32 activations.
            half_x[t] = unsafe { vld1q_s8(x[t].add(16 * half).cast()) };
        }
        for v in 0..2 {
            // SAFETY: all are of 16 bytes.
            let group = |g: usize| unsafe { vld1q_s8(panel.numbers[block][4 * half + g][v].as_ptr()) };
            let [w0, w1, w2, w3] = [group(0), group(1), group(2), group(3)];
            for t in 0..N {
                let sum = sdot_lane::<0>(integers[t][v], w0, half_x[t]);
                let sum = sdot_lane::<1>(sum, w1, half_x[t]);
                let sum = sdot_lane::<2>(sum, w2, half_x[t]);
                integers[t][v] = sdot_lane::<3>(sum, w3, half_x[t]);
            }
        }
        if T::SCALES == 2 {
            let scale = get_rows(&panel.scales[block][half]);
            for t in 0..N {
                for v in 0..2 {
                    let float = vcvtq_f32_s32(integers[t][v]);
                    products[t][v] = vfmaq_f32(products[t][v], float, scale[v]);
                    integers[t][v] = vdupq_n_s32(0);
                }
            }
        }
    }
    if T::SCALES == 1 {
        let scale = get_rows(&panel.scales[block][0]);
        for t in 0..N {
            for v in 0..2 {
                let float = vcvtq_f32_s32(integers[t][v]);
                products[t][v] = if T::SUPER { vmulq_f32(float, scale[v]) } else { float };
            }
        }
    }
    products
}
