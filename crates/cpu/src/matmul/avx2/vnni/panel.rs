//! Unpacked weights: up to eight blocks of 32 of sixteen rows, a row in each 32-bit lane.

use std::arch::x86_64::*;
use std::marker::PhantomData;
use std::ops::Range;

use super::vector::Vector;
use crate::matmul::avx2::block32::{Block32, Groups, Rows};
use crate::matmul::avx2::lanes::{Lanes, Layout, Pairs, prefetch_ahead};
use crate::matmul::avx2::super_block::{BLOCKS, Place, SuperBlock};
use crate::matmul::avx2::{q2_k, q3_k, q4_k, q5_k, q6_k};
use crate::matmul::{Activations, Output, Weights};

/// A type of weights as the kernels take it.
///
/// A panel has `BLOCKS` blocks of 32, [`Panel::BLOCK`] bytes apart. A block begins with its
/// groups of four elements, unsigned bytes, 64 of them for sixteen rows; what else there is comes in
/// vectors of sixteen rows, too.
pub(super) trait Panel {
    /// Whether eight blocks of 32 are a super-block, with chains and a scale of its own.
    const SUPER: bool;
    /// Scales of a block of 32 for each row: one, or one for each half.
    const SCALES: usize;
    /// Minima of a block of 32 for each row: none, one, or one for each half.
    const MINIMA: usize;
    /// What the bytes are too large by.
    const EXCESS: i16;
    /// Bytes from a block of 32 to the next.
    const BLOCK: usize;
    /// Bytes of a panel.
    const BYTES: usize;
    /// Bytes of eight stored blocks of 32.
    const STORED: usize;

    /// Unpacks one of the two eights of rows: `count` blocks of 32 at `rows`. As many bytes as they have
    /// are asked for from `ahead` on.
    ///
    /// # Safety
    /// The CPU has AVX2 and F16C, so many blocks are there, and the panel is writable and aligned to 64 bytes.
    unsafe fn unpack(rows: &Rows, count: usize, panel: *mut u8, eight: usize, ahead: *const u8);

    /// The scales of a block of 32 as floats.
    ///
    /// # Safety
    /// As all methods of [`Vector`]; the block starts there, and the index is below [`Panel::SCALES`].
    unsafe fn scale<V: Vector>(block: *const u8, index: usize) -> V::Float;

    /// Where minima are.
    fn minimum(block: usize, index: usize) -> usize;

    /// The products of a few tokens, if there is a shorter way than through a panel. Returns whether
    /// there is.
    ///
    /// # Safety
    /// As [`super::matmul`].
    unsafe fn few<V: Vector>(w: &Weights, rows: Range<usize>, x: &Activations, y: &Output) -> bool;
}

/// Types in blocks of 32: groups, scales, minima.
pub(super) struct Of32<T>(PhantomData<T>);

const GROUPS: usize = 8 * 64;

impl<T: Block32> Panel for Of32<T> {
    const SUPER: bool = false;
    const SCALES: usize = 1;
    const MINIMA: usize = T::MINIMA as usize;
    /// Signed bytes, of types without offset or minima, get one.
    const EXCESS: i16 = if Self::SIGNED { 128 } else { T::OFFSET };
    const BLOCK: usize = GROUPS + 64 + 64 * T::MINIMA as usize;
    const BYTES: usize = BLOCKS * Self::BLOCK;
    const STORED: usize = BLOCKS * T::BYTES;

    #[inline]
    #[target_feature(enable = "avx2,fma,f16c")]
    unsafe fn unpack(rows: &Rows, count: usize, panel: *mut u8, eight: usize, ahead: *const u8) {
        // SAFETY: the caller's.
        unsafe {
            for block in 0..count {
                prefetch_ahead(ahead.wrapping_add(8 * block * T::BYTES), 8 * T::BYTES);
                let here: Rows = rows.map(|row| row.add(block * T::BYTES));
                let to = panel.add(block * Self::BLOCK + 32 * eight);
                for (g, group) in Self::groups::<Lanes>(&here).into_iter().enumerate() {
                    _mm256_store_si256(to.add(64 * g).cast(), group);
                }
                let scales = T::scales(&here);
                _mm256_store_ps(to.add(GROUPS).cast(), scales.scale);
                if T::MINIMA {
                    _mm256_store_ps(to.add(Self::minimum(0, 0)).cast(), scales.min);
                }
            }
        }
    }

    #[inline(always)]
    unsafe fn scale<V: Vector>(block: *const u8, _: usize) -> V::Float {
        // SAFETY: the caller's.
        unsafe { V::load_floats(block.add(GROUPS)) }
    }

    #[inline(always)]
    fn minimum(block: usize, _: usize) -> usize {
        block * Self::BLOCK + GROUPS + 64
    }

    unsafe fn few<V: Vector>(w: &Weights, rows: Range<usize>, x: &Activations, y: &Output) -> bool {
        // SAFETY: the caller's.
        unsafe {
            match x.tokens {
                1 => V::few::<T, Pairs, 1>(w, rows, x, y),
                2 => V::few::<T, Lanes, 2>(w, rows, x, y),
                3 => V::few::<T, Lanes, 3>(w, rows, x, y),
                4 => V::few::<T, Lanes, 4>(w, rows, x, y),
                5 | 6 if V::FEW >= 6 => V::few::<T, Lanes, 6>(w, rows, x, y),
                7 | 8 if V::FEW >= 8 => V::few::<T, Lanes, 8>(w, rows, x, y),
                _ => return false,
            }
        }
        true
    }
}

impl<T: Block32> Of32<T> {
    const SIGNED: bool = T::OFFSET == 0 && !T::MINIMA;

    /// Eight rows of a block as unsigned bytes.
    ///
    /// # Safety
    /// As [`Block32::groups`].
    #[inline]
    #[target_feature(enable = "avx2,fma,f16c")]
    pub unsafe fn groups<L: Layout>(rows: &Rows) -> Groups {
        // SAFETY: the caller's.
        let mut groups = unsafe { T::groups::<L>(rows) };
        if Self::SIGNED {
            for group in &mut groups {
                *group = _mm256_xor_si256(*group, _mm256_set1_epi8(-128));
            }
        }
        groups
    }
}

/// Types in blocks of 256, in the layout that the kernels without such instructions have.
pub(super) struct Of256<T>(PhantomData<T>);

/// What the unsigned bytes of a super-block's type are too large by.
pub(super) trait Excess: SuperBlock {
    const EXCESS: i16;
}

impl Excess for q2_k::Q2K {
    const EXCESS: i16 = 0;
}
impl Excess for q3_k::Q3K {
    const EXCESS: i16 = 4;
}
impl Excess for q4_k::Q4K {
    const EXCESS: i16 = 0;
}
impl Excess for q5_k::Q5K {
    const EXCESS: i16 = 0;
}
impl Excess for q6_k::Q6K {
    const EXCESS: i16 = 32;
}

impl<T: Excess> Of256<T> {
    const GROUPS: usize = 8 * Place::<T, 2>::GROUP;
}

impl<T: Excess> Panel for Of256<T> {
    const SUPER: bool = true;
    const SCALES: usize = T::SCALES;
    const MINIMA: usize = T::MINIMA;
    const EXCESS: i16 = T::EXCESS;
    const BLOCK: usize = Place::<T, 2>::BLOCK;
    const BYTES: usize = Place::<T, 2>::BYTES;
    const STORED: usize = T::BYTES;

    #[inline]
    #[target_feature(enable = "avx2,fma,f16c")]
    unsafe fn unpack(rows: &Rows, _: usize, panel: *mut u8, eight: usize, ahead: *const u8) {
        // SAFETY: the caller's; a panel is a place for two eights.
        unsafe { T::unpack(rows, Place::<T, 2>::new(panel, eight, ahead)) }
    }

    /// The scale is there twice, in 16 bits each.
    #[inline(always)]
    unsafe fn scale<V: Vector>(block: *const u8, index: usize) -> V::Float {
        // SAFETY: the caller's.
        unsafe { V::float(V::upper(V::load(block.add(Self::GROUPS + 64 * index)))) }
    }

    #[inline(always)]
    fn minimum(block: usize, index: usize) -> usize {
        BLOCKS * Self::BLOCK + 64 * (block * T::MINIMA + index)
    }

    /// A super-block is unpacked once, whatever is done with it.
    unsafe fn few<V: Vector>(_: &Weights, _: Range<usize>, _: &Activations, _: &Output) -> bool {
        false
    }
}
