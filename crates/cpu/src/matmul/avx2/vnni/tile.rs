//! Two registers of rows, unpacked, times some tokens.

use std::ops::Range;

use super::panel::Panel;
use super::vector::{Sums, Vector};
use crate::matmul::avx2::super_block::BLOCKS;
use crate::quantize::A32Offsets;

/// Byte offsets of the two registers of rows: sixteen rows are one panel, 32 are two.
const fn registers<V: Vector, T: Panel>() -> [usize; 2] {
    if V::LANES == 16 { [0, T::BYTES] } else { [0, 32] }
}

/// Blocks of 32 of the weights, from the panel's start, times the same of `N` tokens.
///
/// # Safety
/// The CPU has the instructions, the panel holds the blocks, tokens and sums are there.
#[inline(always)]
pub(super) unsafe fn multiply<V: Vector, T: Panel, const N: usize>(
    panel: *const u8,
    x: [*const u8; N],
    at: &A32Offsets,
    blocks: Range<usize>,
    sums: *mut Sums<V>,
) {
    // SAFETY: the caller's.
    unsafe {
        let sums = &mut *sums.cast::<[Sums<V>; N]>();
        let mut chain = [[V::splat_float(0.0); 2]; N];
        if !T::SUPER {
            for t in 0..N {
                chain[t] = sums[t].acc;
            }
        }
        for (index, block) in blocks.clone().enumerate() {
            let [first, second] = registers::<V, T>();
            let here = [panel.add(index * T::BLOCK + first), panel.add(index * T::BLOCK + second)];
            let products = products::<V, T, N>(here, &x, at, block);
            for t in 0..N {
                let dx = V::splat_float(x[t].add(at.d + 4 * block).cast::<f32>().read_unaligned());
                for v in 0..2 {
                    let scale = if T::SUPER { dx } else { V::mul(T::scale::<V>(here[v], 0), dx) };
                    chain[t][v] = V::fma(products[t][v], scale, chain[t][v]);
                }
            }
        }
        for t in 0..N {
            for v in 0..2 {
                sums[t].acc[v] = if T::SUPER {
                    let d = V::load_floats(panel.add(super_scales::<T>() + registers::<V, T>()[v]));
                    V::fma(chain[t][v], d, sums[t].acc[v])
                } else {
                    chain[t][v]
                };
            }
        }
        if T::MINIMA > 0 {
            minima::<V, T, N>(panel, &x, at, blocks, sums);
        }
    }
}

/// Where a super-block's scale is, and behind it that of its minima.
const fn super_scales<T: Panel>() -> usize {
    BLOCKS * T::BLOCK + 64 * BLOCKS * T::MINIMA
}

/// The integers of a block of 32 as floats, in super-blocks with the scales in them. They and all sums
/// on the way are below 2^24, so float arithmetic is exact.
///
/// # Safety
/// As [`multiply`].
#[inline(always)]
unsafe fn products<V: Vector, T: Panel, const N: usize>(
    here: [*const u8; 2],
    x: &[*const u8; N],
    at: &A32Offsets,
    block: usize,
) -> [[V::Float; 2]; N] {
    // SAFETY: the caller's.
    unsafe {
        let mut products = [[V::splat_float(0.0); 2]; N];
        for part in 0..T::SCALES {
            let mut integers = [[V::splat(0); 2]; N];
            if T::EXCESS != 0 {
                // Of the sums of the two halves the one of this part, or both.
                let excess = i32::from(-T::EXCESS as u16);
                let excess = match (T::SCALES, part) {
                    (1, _) => excess | excess << 16,
                    (_, 0) => excess,
                    _ => excess << 16,
                };
                for t in 0..N {
                    let sum = V::repeat(x[t].add(at.sum + 4 * block));
                    integers[t] = [V::pairs(sum, V::splat(excess)); 2];
                }
            }
            let groups = 8 / T::SCALES;
            for group in part * groups..(part + 1) * groups {
                let weights = [V::load(here[0].add(64 * group)), V::load(here[1].add(64 * group))];
                for t in 0..N {
                    let x = V::repeat(x[t].add(32 * block + 4 * group));
                    for v in 0..2 {
                        integers[t][v] = V::in_register(V::dot(integers[t][v], weights[v], x));
                    }
                }
            }
            for v in 0..2 {
                if !T::SUPER {
                    for t in 0..N {
                        products[t][v] = V::float(integers[t][v]);
                    }
                    continue;
                }
                let scale = T::scale::<V>(here[v], part);
                for t in 0..N {
                    let integer = V::float(integers[t][v]);
                    products[t][v] = if part == 0 {
                        V::mul(integer, scale)
                    } else {
                        V::fma(integer, scale, products[t][v])
                    };
                }
            }
        }
        products
    }
}

/// The chains of minima: a loop of their own has room for them in registers.
///
/// # Safety
/// As [`multiply`], of a type with minima.
#[inline(always)]
unsafe fn minima<V: Vector, T: Panel, const N: usize>(
    panel: *const u8,
    x: &[*const u8; N],
    at: &A32Offsets,
    blocks: Range<usize>,
    sums: &mut [Sums<V>; N],
) {
    // SAFETY: the caller's.
    unsafe {
        let mut chain = [[V::splat_float(0.0); 2]; N];
        if !T::SUPER {
            for t in 0..N {
                chain[t] = sums[t].min;
            }
        }
        for (index, block) in blocks.enumerate() {
            for m in 0..T::MINIMA {
                let minima = panel.add(T::minimum(index, m));
                let [first, second] = registers::<V, T>();
                let minima = [V::load_floats(minima.add(first)), V::load_floats(minima.add(second))];
                for t in 0..N {
                    let word = |array: usize| x[t].add(array + 4 * block);
                    let s = if T::MINIMA == 1 {
                        word(at.s).cast::<f32>().read_unaligned()
                    } else {
                        let sum = word(at.sum).cast::<[i16; 2]>().read_unaligned()[m];
                        word(at.d).cast::<f32>().read_unaligned() * f32::from(sum)
                    };
                    for v in 0..2 {
                        chain[t][v] = V::fma(minima[v], V::splat_float(s), chain[t][v]);
                    }
                }
            }
        }
        for t in 0..N {
            for v in 0..2 {
                sums[t].min[v] = if T::SUPER {
                    let dmin = V::load_floats(panel.add(super_scales::<T>() + 64 + registers::<V, T>()[v]));
                    V::fma(chain[t][v], dmin, sums[t].min[v])
                } else {
                    chain[t][v]
                };
            }
        }
    }
}
