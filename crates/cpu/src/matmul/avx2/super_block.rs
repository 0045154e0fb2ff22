//! What the kernel of super-blocks needs to know of a type in blocks of 256.

use std::arch::x86_64::*;
use std::marker::PhantomData;

use super::block32::Rows;
use super::lanes::prefetch_ahead;

/// Blocks of 32 in a super-block.
pub(super) const BLOCKS: usize = 8;

/// A type of weights in blocks of 256 with `BYTES` bytes each.
///
/// Unpacked, a group of four elements of eight rows is [`SuperBlock::VECTORS`] vectors of unsigned
/// bytes, a row in each 32-bit lane. Products are added in 16 bits over the groups of a part, of
/// which a block of 32 has [`SuperBlock::PARTS`], and then multiplied with the scales of the rows.
pub(super) trait SuperBlock {
    /// Bytes of a block.
    const BYTES: usize;
    /// Vectors of a group.
    const VECTORS: usize = 1;
    /// Parts of a block of 32, whose sums fit 16 bits: 1, 2 or 4.
    const PARTS: usize;
    /// Scales of a block of 32 for each row: one; two, for the first and the second half; or if
    /// there are two vectors one for each.
    const SCALES: usize;
    /// Whether the unsigned numbers are too large, by what [`Place::offset`] is told.
    const OFFSET: bool;
    /// Minima of a block of 32 for each row: none, one, or one for each half.
    const MINIMA: usize;

    /// Unpacks a super-block of eight rows.
    ///
    /// # Safety
    /// The CPU has AVX2 and F16C, the pointers point to whole blocks, and the place is writable.
    unsafe fn unpack<const EIGHTS: usize>(rows: &Rows, to: Place<Self, EIGHTS>);
}

/// Where a super-block of `EIGHTS` times eight rows lies unpacked: for each block of 32 its groups,
/// scales and offsets; then all minima as floats, the scale `d` of the super-block and `dmin`.
/// Vectors of the same kind lie beside each other, an eight after the other.
pub(super) struct Place<T: SuperBlock + ?Sized, const EIGHTS: usize> {
    at: *mut u8,
    eight: usize,
    /// Where to ask for as many bytes as the super-block of eight rows has, while it is unpacked.
    ahead: *const u8,
    of: PhantomData<T>,
}

impl<T: SuperBlock + ?Sized, const EIGHTS: usize> Clone for Place<T, EIGHTS> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T: SuperBlock + ?Sized, const EIGHTS: usize> Copy for Place<T, EIGHTS> {}

impl<T: SuperBlock + ?Sized, const EIGHTS: usize> Place<T, EIGHTS> {
    /// Bytes from a group to the next.
    pub const GROUP: usize = 32 * EIGHTS * T::VECTORS;
    /// Bytes from a block of 32 to the next.
    pub const BLOCK: usize = 8 * Self::GROUP + 32 * EIGHTS * (T::SCALES + T::OFFSET as usize);
    /// Bytes of a super-block.
    pub const BYTES: usize =
        BLOCKS * Self::BLOCK + 32 * EIGHTS * (BLOCKS * T::MINIMA + 1 + (T::MINIMA > 0) as usize);

    /// The part for the eight of that index of [`Self::BYTES`] bytes at `at`, a multiple of 32.
    pub const fn new(at: *mut u8, eight: usize, ahead: *const u8) -> Self {
        Place { at, eight, ahead, of: PhantomData }
    }

    /// # Safety
    /// `offset` and the vector behind it lie in the place, which is writable.
    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn put(self, offset: usize, vector: __m256i) {
        // SAFETY: the caller's; all offsets are multiples of 32.
        unsafe { _mm256_store_si256(self.at.add(offset).cast(), vector) }
    }

    /// Four unsigned bytes of each row.
    ///
    /// # Safety
    /// The place is writable; the indices are below 8, 8 and [`SuperBlock::VECTORS`].
    #[inline]
    #[target_feature(enable = "avx2")]
    pub unsafe fn group(self, block: usize, group: usize, vector: usize, bytes: __m256i) {
        if group.is_multiple_of(4) && vector == 0 {
            // A little with each half of a block: many lines at once would hold up the loads behind them.
            let half = T::BYTES / 2;
            prefetch_ahead(self.ahead.wrapping_add((2 * block + group / 4) * half), half);
        }
        let vector = self.eight * T::VECTORS + vector;
        // SAFETY: the caller's.
        unsafe { self.put(block * Self::BLOCK + group * Self::GROUP + 32 * vector, bytes) }
    }

    /// The scale of each row, twice in 16 bits.
    ///
    /// # Safety
    /// The place is writable; the indices are below 8 and [`SuperBlock::SCALES`].
    #[inline]
    #[target_feature(enable = "avx2")]
    pub unsafe fn scale(self, block: usize, index: usize, pairs: __m256i) {
        let at = block * Self::BLOCK + 8 * Self::GROUP;
        // SAFETY: the caller's.
        unsafe { self.put(at + 32 * (index * EIGHTS + self.eight), pairs) }
    }

    /// What the sums of the two halves of the activations are multiplied with and added to the
    /// integer, in 16 bits each.
    ///
    /// # Safety
    /// The place is writable, the block is below 8, and the type has offsets.
    #[inline]
    #[target_feature(enable = "avx2")]
    pub unsafe fn offset(self, block: usize, pairs: __m256i) {
        debug_assert!(T::OFFSET);
        // SAFETY: offsets lie behind the scales.
        unsafe { self.scale(block, T::SCALES, pairs) }
    }

    /// A minimum of each row.
    ///
    /// # Safety
    /// The place is writable; the indices are below 8 and [`SuperBlock::MINIMA`].
    #[inline]
    #[target_feature(enable = "avx2")]
    pub unsafe fn minimum(self, block: usize, index: usize, minima: __m256) {
        let at = BLOCKS * Self::BLOCK + 32 * ((block * T::MINIMA + index) * EIGHTS + self.eight);
        // SAFETY: the caller's.
        unsafe { self.put(at, _mm256_castps_si256(minima)) }
    }

    /// The scale of the super-block of each row, and that of the minima.
    ///
    /// # Safety
    /// The place is writable.
    #[inline]
    #[target_feature(enable = "avx2")]
    pub unsafe fn super_scales(self, d: __m256, dmin: __m256) {
        let at = BLOCKS * Self::BLOCK + 32 * EIGHTS * BLOCKS * T::MINIMA + 32 * self.eight;
        // SAFETY: the caller's.
        unsafe {
            self.put(at, _mm256_castps_si256(d));
            if T::MINIMA > 0 {
                self.put(at + 32 * EIGHTS, _mm256_castps_si256(dmin));
            }
        }
    }
}
