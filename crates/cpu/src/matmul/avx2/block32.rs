//! What the two kernels need to know of a type in blocks of 32.

use std::arch::x86_64::*;

use super::lanes::{Layout, first_halves, first_halves_of_pairs, first_words, halves};

/// Pointers to the same block of eight rows.
pub(super) type Rows = [*const u8; 8];

/// Eight rows of a block: four vectors of the first 16 elements, then four of the others, as a [`Layout`] says.
pub(super) type Groups = [__m256i; 8];

/// Scales and minima of eight rows, a row a lane.
#[derive(Clone, Copy)]
pub(super) struct Scales {
    pub scale: __m256,
    /// Zero in types without minima.
    pub min: __m256,
}

impl Scales {
    /// Of blocks that begin with a scale.
    ///
    /// # Safety
    /// The CPU has AVX2 and F16C, and the pointers point to blocks.
    #[inline]
    #[target_feature(enable = "avx2,f16c")]
    pub unsafe fn alone(rows: &Rows) -> Scales {
        // SAFETY: the caller's.
        Scales { scale: unsafe { first_halves(rows) }, min: _mm256_setzero_ps() }
    }

    /// Of blocks that begin with a scale, whose first 16 bytes are read as [`Pairs`](super::lanes::Pairs) as well.
    ///
    /// # Safety
    /// As [`Scales::alone`]; a block has 16 bytes or more.
    #[inline]
    #[target_feature(enable = "avx2,f16c")]
    pub unsafe fn of_pairs(rows: &Rows) -> Scales {
        // SAFETY: the caller's.
        Scales { scale: unsafe { first_halves_of_pairs(rows) }, min: _mm256_setzero_ps() }
    }

    /// Of blocks that begin with a scale and a minimum.
    ///
    /// # Safety
    /// As [`Scales::alone`]; a block has 16 bytes or more.
    #[inline]
    #[target_feature(enable = "avx2,f16c")]
    pub unsafe fn with_minima(rows: &Rows) -> Scales {
        // SAFETY: the caller's.
        let [scale, min] = halves(unsafe { first_words(rows) });
        Scales { scale, min }
    }
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
    unsafe fn groups<L: Layout>(rows: &Rows) -> Groups;

    /// The exact integer products of eight rows, laid out as `Pairs`, with a block of activations: its first and its
    /// other 16 numbers, each [`twice`](super::lanes::twice). A row a lane, offset included.
    ///
    /// # Safety
    /// The CPU has AVX2.
    unsafe fn dot(groups: &Groups, x: [__m256i; 2]) -> __m256i;

    /// Puts eight rows, laid out as `Lanes`, into the panel: of the vectors of group `g`, which start at `to + 64 g`,
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

/// Of `Pairs`: the products of unsigned bytes with the activations, eight 16-bit numbers a row. Four products must fit
/// 16 bits.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn products(groups: &Groups, x: [__m256i; 2]) -> [__m256i; 4] {
    let mut sums = [_mm256_setzero_si256(); 4];
    for (pair, sum) in sums.iter_mut().enumerate() {
        let first = _mm256_maddubs_epi16(groups[pair], x[0]);
        *sum = _mm256_add_epi16(first, _mm256_maddubs_epi16(groups[pair + 4], x[1]));
    }
    sums
}
