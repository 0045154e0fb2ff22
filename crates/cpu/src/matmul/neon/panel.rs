//! Unpacked weights: eight rows times up to 256 columns.

use std::arch::aarch64::*;
use std::ops::Range;

use crate::matmul::{Activations, Output, Weights};

/// Rows of a panel, a 32-bit lane of two vectors each.
pub(super) const ROWS: usize = 8;
/// Blocks of 32 columns of a panel, at most.
pub(super) const BLOCKS: usize = 8;

/// Pointers to the same block of the rows of a panel.
pub(super) type Rows = [*const u8; ROWS];

/// 32 numbers of a row, the first 16 and the others.
pub(super) type Numbers = [int8x16_t; 2];

/// What is there of a type is unpacked, the rest holds anything.
#[repr(C, align(64))]
pub(super) struct Panel {
    /// (block, group of four columns, four rows): four numbers of each of four rows.
    pub numbers: [[[[i8; 16]; 2]; 8]; BLOCKS],
    /// (block, half of a block, row): as [`Kind::SCALES`] says.
    pub scales: [[[f32; ROWS]; 2]; BLOCKS],
    /// (block, half of a block, row): as [`Kind::MINIMA`] says.
    pub minima: [[[f32; ROWS]; 2]; BLOCKS],
    /// The scales of super-blocks, and those of their minima.
    pub d: [[f32; ROWS]; 2],
}

/// A type of weights as the kernels take it.
pub(super) trait Kind {
    /// Whether eight blocks of 32 are a super-block, with chains and a scale of its own.
    const SUPER: bool;
    /// Scales of a block of 32: one, or one for each half.
    const SCALES: usize;
    /// Minima of a block of 32: none, one, or one for each half.
    const MINIMA: usize;
    /// Bytes of eight stored blocks of 32.
    const STORED: usize;
    /// The most tokens for which [`Kind::few`] is the way.
    const FEW_TOKENS: usize;

    /// Unpacks `count` blocks of 32 from each row.
    ///
    /// # Safety
    /// The CPU has NEON, and the pointers point to so many blocks, whole super-blocks where there are such.
    unsafe fn unpack(rows: &Rows, count: usize, panel: &mut Panel);

    /// The products of a few tokens, if there is a shorter way than through a panel. Returns whether there is.
    ///
    /// # Safety
    /// As [`super::matmul`].
    unsafe fn few(w: &Weights, rows: Range<usize>, x: &Activations, y: &Output) -> bool;
}

/// Rows to columns: of 16 numbers of each of four rows, four vectors of four numbers a row.
#[inline]
#[target_feature(enable = "neon")]
pub(super) fn groups(rows: [int8x16_t; 4]) -> [int8x16_t; 4] {
    let rows = rows.map(|row| vreinterpretq_s32_s8(row));
    let even = [vtrn1q_s32(rows[0], rows[1]), vtrn1q_s32(rows[2], rows[3])];
    let odd = [vtrn2q_s32(rows[0], rows[1]), vtrn2q_s32(rows[2], rows[3])];
    let wide = |v: int32x4_t| vreinterpretq_s64_s32(v);
    [
        vreinterpretq_s8_s64(vtrn1q_s64(wide(even[0]), wide(even[1]))),
        vreinterpretq_s8_s64(vtrn1q_s64(wide(odd[0]), wide(odd[1]))),
        vreinterpretq_s8_s64(vtrn2q_s64(wide(even[0]), wide(even[1]))),
        vreinterpretq_s8_s64(vtrn2q_s64(wide(odd[0]), wide(odd[1]))),
    ]
}

/// The half-precision numbers at byte `at` of each row.
///
/// # Safety
/// The CPU has NEON, and the rows have these two bytes.
#[inline]
#[target_feature(enable = "neon")]
pub(super) unsafe fn halves(rows: &Rows, at: usize) -> [float32x4_t; 2] {
    let four = |first: usize| {
        // SAFETY: the caller's.
        let bits = |row: usize| u64::from(unsafe { rows[row].add(at).cast::<u16>().read_unaligned() });
        let all = bits(first) | bits(first + 1) << 16 | bits(first + 2) << 32 | bits(first + 3) << 48;
        vcvt_f32_f16(vreinterpret_f16_u64(vcreate_u64(all)))
    };
    [four(0), four(4)]
}

/// Writes two vectors of four rows.
#[inline]
#[target_feature(enable = "neon")]
pub(super) fn put_rows(to: &mut [f32; ROWS], rows: [float32x4_t; 2]) {
    // SAFETY: eight elements.
    unsafe {
        vst1q_f32(to.as_mut_ptr(), rows[0]);
        vst1q_f32(to.as_mut_ptr().add(4), rows[1]);
    }
}

/// Reads two vectors of four rows.
#[inline]
#[target_feature(enable = "neon")]
pub(super) fn get_rows(from: &[f32; ROWS]) -> [float32x4_t; 2] {
    // SAFETY: eight elements.
    unsafe { [vld1q_f32(from.as_ptr()), vld1q_f32(from.as_ptr().add(4))] }
}
