//! Moving eight rows into lanes.
//!
//! Intrinsics are called from functions and loops, never from closures: those are not always inlined,
//! and a call for each vector costs several times what it does.

use std::arch::x86_64::*;

use super::block32::Rows;

/// Repeats a block with a constant of each value: shifts and offsets that hang on it become constants
/// too, which the compiler does not see in a loop with much in it.
macro_rules! unrolled {
    ($name:ident in [$($value:literal),*] $body:block) => {
        $({
            const $name: usize = $value;
            $body
        })*
    };
}
pub(super) use unrolled;

/// Pairs of 16-bit sums added to 32 bits.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn pair_sum(sums: __m256i) -> __m256i {
    _mm256_madd_epi16(sums, _mm256_set1_epi16(1))
}

/// How 16 bytes of each of eight rows lie in four vectors.
pub(super) trait Layout {
    /// Whether a row has a 32-bit lane of its own in every vector.
    const LANES: bool;

    /// Reads 16 bytes at an offset into each row.
    ///
    /// # Safety
    /// The CPU has AVX2, and the bytes are readable.
    unsafe fn load(rows: &Rows, offset: usize) -> [__m256i; 4];
}

/// Vector `g` holds bytes `4 g` to `4 g + 3` of row `l` in its lane `l`: products of a row stay in its lane, however
/// many are added, so this pays for many tokens.
pub(super) struct Lanes;

/// Vector `p` holds all bytes of row `p` in its lower half and of row `p + 4` in its upper one: quick to read, and
/// [`row_sums`] brings the rows into lanes after the products, so this pays for few tokens.
pub(super) struct Pairs;

impl Layout for Lanes {
    const LANES: bool = true;

    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn load(rows: &Rows, offset: usize) -> [__m256i; 4] {
        // SAFETY: the caller's.
        unsafe { transpose(rows, offset) }
    }
}

impl Layout for Pairs {
    const LANES: bool = false;

    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn load(rows: &Rows, offset: usize) -> [__m256i; 4] {
        // SAFETY: the caller's.
        let [ab, cd] = unsafe { pairs(rows, offset) };
        [ab[0], ab[1], cd[0], cd[1]]
    }
}

/// 16 bytes in both halves of a vector.
///
/// # Safety
/// The CPU has AVX2, and the bytes are readable.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) unsafe fn twice(from: *const u8) -> __m256i {
    // SAFETY: the caller's.
    _mm256_broadcastsi128_si256(unsafe { _mm_loadu_si128(from.cast()) })
}

/// Of [`Pairs`] with four 32-bit numbers a row: their sums, a row a lane.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn row_sums(numbers: &[__m256i; 4]) -> __m256i {
    let first = _mm256_hadd_epi32(numbers[0], numbers[1]);
    _mm256_hadd_epi32(first, _mm256_hadd_epi32(numbers[2], numbers[3]))
}

/// The same of eight 16-bit numbers a row, of which two fit 16 bits together, and with `FOUR` four.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn row_sums_of_words<const FOUR: bool>(numbers: &[__m256i; 4]) -> __m256i {
    let first = _mm256_hadd_epi16(numbers[0], numbers[1]);
    let second = _mm256_hadd_epi16(numbers[2], numbers[3]);
    if FOUR {
        pair_sum(_mm256_hadd_epi16(first, second))
    } else {
        _mm256_hadd_epi32(pair_sum(first), pair_sum(second))
    }
}

/// Reads 16 bytes at an offset into each row and transposes them: vector `g` of the result holds
/// bytes `4 g` to `4 g + 3` of row `l` in its lane `l`.
///
/// # Safety
/// The CPU has AVX2, and the bytes are readable.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) unsafe fn transpose(rows: &Rows, offset: usize) -> [__m256i; 4] {
    // SAFETY: the caller's.
    let [ab, cd] = unsafe { pairs(rows, offset) };
    let (low, high) = (_mm256_unpacklo_epi32(ab[0], ab[1]), _mm256_unpacklo_epi32(cd[0], cd[1]));
    let (low2, high2) = (_mm256_unpackhi_epi32(ab[0], ab[1]), _mm256_unpackhi_epi32(cd[0], cd[1]));
    [
        _mm256_unpacklo_epi64(low, high),
        _mm256_unpackhi_epi64(low, high),
        _mm256_unpacklo_epi64(low2, high2),
        _mm256_unpackhi_epi64(low2, high2),
    ]
}

/// The first vector of [`transpose`] at offset 0 alone: the four bytes at the start of each row.
///
/// # Safety
/// As [`transpose`]: 16 bytes are read.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) unsafe fn first_words(rows: &Rows) -> __m256i {
    // SAFETY: the caller's.
    let [ab, cd] = unsafe { pairs(rows, 0) };
    _mm256_unpacklo_epi64(_mm256_unpacklo_epi32(ab[0], ab[1]), _mm256_unpacklo_epi32(cd[0], cd[1]))
}

/// 16 bytes of rows 0 and 4, 1 and 5, 2 and 6, 3 and 7 in the halves of a vector each.
///
/// # Safety
/// As [`transpose`].
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn pairs(rows: &Rows, offset: usize) -> [[__m256i; 2]; 2] {
    // SAFETY: the caller's.
    unsafe {
        [
            [pair(rows[0], rows[4], offset), pair(rows[1], rows[5], offset)],
            [pair(rows[2], rows[6], offset), pair(rows[3], rows[7], offset)],
        ]
    }
}

/// # Safety
/// As [`transpose`].
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn pair(low: *const u8, high: *const u8, offset: usize) -> __m256i {
    // SAFETY: the caller's.
    unsafe {
        let low = _mm_loadu_si128(low.add(offset).cast());
        let high = _mm_loadu_si128(high.add(offset).cast());
        _mm256_inserti128_si256::<1>(_mm256_castsi128_si256(low), high)
    }
}

/// The half-precision numbers in the low and the high 16 bits of each lane.
#[inline]
#[target_feature(enable = "avx2,f16c")]
pub(super) fn halves(words: __m256i) -> [__m256; 2] {
    let sorted = _mm256_shuffle_epi8(
        words,
        _mm256_broadcastsi128_si256(_mm_setr_epi8(0, 1, 4, 5, 8, 9, 12, 13, 2, 3, 6, 7, 10, 11, 14, 15)),
    );
    let sorted = _mm256_permute4x64_epi64::<0b11_01_10_00>(sorted);
    [_mm256_cvtph_ps(_mm256_castsi256_si128(sorted)), _mm256_cvtph_ps(_mm256_extracti128_si256::<1>(sorted))]
}

/// The half-precision number at the start of each row.
///
/// # Safety
/// The CPU has AVX2 and F16C, and two bytes are readable.
#[inline]
#[target_feature(enable = "avx2,f16c")]
pub(super) unsafe fn first_halves(rows: &Rows) -> __m256 {
    let mut words = [_mm_setzero_si128(); 2];
    // SAFETY: the caller's.
    unsafe {
        let word = |row: usize| i32::from(rows[row].cast::<i16>().read_unaligned());
        words[0] = _mm_insert_epi16::<0>(words[0], word(0));
        words[1] = _mm_insert_epi16::<4>(words[1], word(4));
        words[0] = _mm_insert_epi16::<1>(words[0], word(1));
        words[1] = _mm_insert_epi16::<5>(words[1], word(5));
        words[0] = _mm_insert_epi16::<2>(words[0], word(2));
        words[1] = _mm_insert_epi16::<6>(words[1], word(6));
        words[0] = _mm_insert_epi16::<3>(words[0], word(3));
        words[1] = _mm_insert_epi16::<7>(words[1], word(7));
    }
    _mm256_cvtph_ps(_mm_or_si128(words[0], words[1]))
}

/// [`first_halves`] from the first 16 bytes of each row, for types that need those anyway: the reads are the same as of
/// [`Pairs`], and a few shuffles cost less than eight more reads that each insert a word.
///
/// # Safety
/// The CPU has AVX2 and F16C, and 16 bytes are readable.
#[inline]
#[target_feature(enable = "avx2,f16c")]
pub(super) unsafe fn first_halves_of_pairs(rows: &Rows) -> __m256 {
    // SAFETY: the caller's.
    let [ab, cd] = unsafe { pairs(rows, 0) };
    let (low, high) = (_mm256_unpacklo_epi16(ab[0], ab[1]), _mm256_unpacklo_epi16(cd[0], cd[1]));
    // Rows 0 to 3 at the start of the lower half, 4 to 7 at that of the upper one.
    let words = _mm256_permute4x64_epi64::<0b10_00>(_mm256_unpacklo_epi32(low, high));
    _mm256_cvtph_ps(_mm256_castsi256_si128(words))
}

/// The byte of that index in each lane, below 4, sign-extended to 16 bits, twice.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn signed_pair(words: __m256i, index: usize) -> __m256i {
    let first = _mm_setr_epi8(-128, 0, -128, 0, -128, 4, -128, 4, -128, 8, -128, 8, -128, 12, -128, 12);
    let pick = _mm_add_epi8(first, _mm_set1_epi32(0x0100_0100 * index as i32));
    // The byte goes to the upper half of each 16 bits, above a zero.
    _mm256_srai_epi16::<8>(_mm256_shuffle_epi8(words, _mm256_broadcastsi128_si256(pick)))
}

/// The byte of that index in each lane, below 4, extended by zeros to 16 bits, twice.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn unsigned_pair(words: __m256i, index: usize) -> __m256i {
    let first = _mm_setr_epi8(0, -128, 0, -128, 4, -128, 4, -128, 8, -128, 8, -128, 12, -128, 12, -128);
    let pick = _mm_add_epi8(first, _mm_set1_epi32(0x0001_0001 * index as i32));
    _mm256_shuffle_epi8(words, _mm256_broadcastsi128_si256(pick))
}

/// The byte of that index in each lane, below 4, as a float.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn float(words: __m256i, index: usize) -> __m256 {
    let first =
        _mm_setr_epi8(0, -128, -128, -128, 4, -128, -128, -128, 8, -128, -128, -128, 12, -128, -128, -128);
    let pick = _mm_add_epi8(first, _mm_set1_epi32(index as i32));
    _mm256_cvtepi32_ps(_mm256_shuffle_epi8(words, _mm256_broadcastsi128_si256(pick)))
}

/// The low nibbles of all bytes.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn low_nibbles(bytes: __m256i) -> __m256i {
    _mm256_and_si256(bytes, _mm256_set1_epi8(15))
}

/// The high nibbles of all bytes.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn high_nibbles(bytes: __m256i) -> __m256i {
    low_nibbles(_mm256_srli_epi16::<4>(bytes))
}

/// Writes the first `count` lanes.
///
/// # Safety
/// The CPU has AVX2, and `count` elements at `to` are writable.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) unsafe fn store_lanes(to: *mut f32, lanes: __m256, count: usize) {
    if count >= 8 {
        // SAFETY: eight elements are writable.
        unsafe { _mm256_storeu_ps(to, lanes) };
        return;
    }
    let index = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    let mask = _mm256_cmpgt_epi32(_mm256_set1_epi32(count as i32), index);
    // SAFETY: lanes from `count` on are masked out.
    unsafe { _mm256_maskstore_ps(to, mask, lanes) };
}

/// Bytes that fit the first-level cache beside what is being worked on.
const NEAR_BYTES: usize = 10 << 10;

/// Asks for the cache lines of bytes that will be read soon, a part of `all` that will be.
///
/// Rows of small models are too short for the CPU to see eight streams in them; of the next rows,
/// taken as one piece of memory, it is told. What is too much for the first-level cache goes to the
/// second. The address may lie behind the weights: a prefetch never faults.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn prefetch(from: *const u8, bytes: usize, all: usize) {
    for line in 0..bytes.div_ceil(64) {
        let from = from.wrapping_add(64 * line).cast();
        if all <= NEAR_BYTES {
            _mm_prefetch::<_MM_HINT_T0>(from);
        } else {
            _mm_prefetch::<_MM_HINT_T1>(from);
        }
    }
}

/// How far the second-level cache must be ahead of what is read from memory: what is asked for later arrives late.
const AHEAD_BYTES: usize = 16 << 10;

/// How far ahead of eights of rows, so many bytes each, to [`prefetch_ahead`]: whole eights, as the rows of one are read
/// together.
pub(super) fn ahead(eight_bytes: usize) -> usize {
    eight_bytes * AHEAD_BYTES.div_ceil(eight_bytes.max(1)).max(1)
}

/// [`prefetch`] to the second-level cache, which can wait for more than the first at a time and so reach further ahead.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn prefetch_ahead(from: *const u8, bytes: usize) {
    for line in 0..bytes.div_ceil(64) {
        _mm_prefetch::<_MM_HINT_T1>(from.wrapping_add(64 * line).cast());
    }
}
