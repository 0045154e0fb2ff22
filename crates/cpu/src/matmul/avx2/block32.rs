//! What the two kernels need to know of a type in blocks of 32.

use std::arch::x86_64::*;

/// Pointers to the same block of eight rows.
pub(super) type Rows = [*const u8; 8];

/// Eight rows of a block: vector `g` holds elements `4 g` to `4 g + 3` of each row, a row in each
/// 32-bit lane.
pub(super) type Groups = [__m256i; 8];

/// Scales and minima of eight rows, a row a lane.
#[derive(Clone, Copy)]
pub(super) struct Scales {
    pub scale: __m256,
    /// Zero in types without minima.
    pub min: __m256,
}

/// A type of weights in blocks of 32 with `BYTES` bytes each.
///
/// In the panel a group of four elements takes two vectors of unsigned bytes, so small that sums over
/// a part of the block fit 16 bits: two times eight rows, or the two halves of the bits of eight rows.
pub(super) trait Block32 {
    /// Bytes of a block.
    const BYTES: usize;
    /// Whether blocks have minima.
    const MINIMA: bool;
    /// Rows in a panel, in eights: 2 or 1.
    const PANEL_EIGHTS: usize;
    /// Parts of a block whose sums fit 16 bits in the panel: 1 or 2.
    const PANEL_PARTS: usize = 1;
    /// What the numbers that [`Block32::dot`] multiplies are too large by.
    const OFFSET: i16;
    /// What the numbers in the panel are too large by.
    const PANEL_OFFSET: i16 = Self::OFFSET;

    /// # Safety
    /// The CPU has AVX2 and F16C, and the pointers point to whole blocks.
    unsafe fn scales(rows: &Rows) -> Scales;

    /// The stored numbers of eight rows, bytes as [`Block32::dot`] and [`Block32::store`] want them.
    ///
    /// # Safety
    /// As [`Block32::scales`].
    unsafe fn groups(rows: &Rows) -> Groups;

    /// The exact integer products of eight rows with a block of activations, offset included.
    ///
    /// # Safety
    /// The CPU has AVX2, and `x` points to 32 bytes.
    unsafe fn dot(groups: &Groups, x: *const u8) -> __m256i;

    /// Puts eight rows into the panel: of the vectors of group `g`, which start at `to + 64 g`,
    /// the one that `eight` says or both.
    ///
    /// # Safety
    /// The CPU has AVX2, and 512 bytes at `to` are writable.
    unsafe fn store(groups: &Groups, to: *mut u8, eight: usize);

    /// From the 16-bit sums over the two vectors of each group of a part: the integers of each eight rows,
    /// offset included. Of the result the first `PANEL_EIGHTS` count.
    ///
    /// # Safety
    /// The CPU has AVX2.
    unsafe fn integers(sums: [__m256i; 2]) -> [__m256i; 2];
}
