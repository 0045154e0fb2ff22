//! Quantized activations: rows of [`DType::A32`], the one format that all quantized weights multiply.
//!
//! A block of 32 inputs becomes 32 signed bytes `q`, a scale `d`, the integer sums of its two halves
//! and `s = d * float(sum of all 32)`. The expressions are in `NUMERICS.md`, section "Activations".

use graph::DType;

use crate::isa::Isa;

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "aarch64")]
mod neon;

/// Inputs in a block.
const BLOCK: usize = 32;

/// Quantizes a whole row: `x` has a multiple of 32 elements, `row` is the row's
/// `DType::A32.row_bytes(x.len())` bytes. Bytes that pad the row are left as they are.
pub fn quantize_row(isa: Isa, x: &[f32], row: &mut [u8]) {
    assert_eq!(row.len(), DType::A32.row_bytes(x.len()));
    // SAFETY: the row is borrowed exclusively and holds all blocks of `x`.
    unsafe { quantize_blocks(isa, x, row.as_mut_ptr(), x.len(), 0) }
}

/// Quantizes the blocks from `first_block` on of a row of `cols` columns: `x` holds the inputs of
/// whole blocks. Several threads may fill one row, each its own blocks.
///
/// # Safety
/// `row` points to `DType::A32.row_bytes(cols)` writable bytes, and no other thread reads or writes
/// those of these blocks meanwhile.
pub unsafe fn quantize_blocks(isa: Isa, x: &[f32], row: *mut u8, cols: usize, first_block: usize) {
    assert!(cols.is_multiple_of(BLOCK));
    assert!(x.len().is_multiple_of(BLOCK));
    assert!(first_block * BLOCK + x.len() <= cols);
    let row = A32RowMut { row, cols };
    match isa.base() {
        #[cfg(target_arch = "x86_64")]
        Isa::Avx2 => {
            assert_eq!(isa.is_available(), Ok(()));
            // SAFETY: the caller grants the blocks, which were checked to lie in the row; the CPU has the
            // instructions.
            unsafe { avx2::quantize(x, row, first_block) }
        }
        #[cfg(target_arch = "aarch64")]
        Isa::Neon => {
            assert_eq!(isa.is_available(), Ok(()));
            // SAFETY: as above.
            unsafe { neon::quantize(x, row, first_block) }
        }
        // SAFETY: as above.
        _ => unsafe { quantize_scalar(x, row, first_block) },
    }
}

/// Byte offsets of the arrays in a row of `cols` columns; `q` is at 0.
pub(crate) struct A32Offsets {
    /// `f32` scale of each block.
    pub d: usize,
    /// `f32` scaled sum of each block.
    pub s: usize,
    /// Two `i16` sums of each block.
    pub sum: usize,
}

impl A32Offsets {
    pub(crate) const fn of(cols: usize) -> A32Offsets {
        let blocks = cols / BLOCK;
        A32Offsets { d: cols, s: cols + 4 * blocks, sum: cols + 8 * blocks }
    }
}

/// A row to be written, block by block.
#[derive(Clone, Copy)]
struct A32RowMut {
    row: *mut u8,
    cols: usize,
}

impl A32RowMut {
    /// # Safety
    /// The row is writable and has that block.
    unsafe fn write_block(self, block: usize, q: &[i8; BLOCK], d: f32, s: f32, sum: [i16; 2]) {
        let at = A32Offsets::of(self.cols);
        // SAFETY: the four arrays lie in the row's bytes, and the block is one of the row's. The
        // writes ask no alignment.
        unsafe {
            self.row.add(block * BLOCK).cast::<[i8; BLOCK]>().write(*q);
            let word = |offset: usize| self.row.add(offset + 4 * block);
            word(at.d).cast::<f32>().write_unaligned(d);
            word(at.s).cast::<f32>().write_unaligned(s);
            word(at.sum).cast::<[i16; 2]>().write_unaligned(sum);
        }
    }
}

/// # Safety
/// As [`quantize_blocks`].
unsafe fn quantize_scalar(x: &[f32], row: A32RowMut, first_block: usize) {
    for (index, x) in x.as_chunks::<BLOCK>().0.iter().enumerate() {
        let mut q = [0i8; BLOCK];
        let mut sum = [0i16; 2];
        let (d, inverse) = scale(amax_bits(x));
        for (i, (q, x)) in q.iter_mut().zip(x).enumerate() {
            *q = round(*x, inverse);
            sum[i / 16] += i16::from(*q);
        }
        let s = d * (f32::from(sum[0]) + f32::from(sum[1]));
        // SAFETY: the caller grants the block.
        unsafe { row.write_block(first_block + index, &q, d, s, sum) };
    }
}

/// The largest magnitude as bits, so that a NaN counts as larger than an infinity.
fn amax_bits(x: &[f32; BLOCK]) -> u32 {
    let bits = x.iter().map(|x| x.to_bits() & 0x7fff_ffff);
    bits.fold(0, u32::max)
}

/// The scale of a block and what its inputs are multiplied by, from the bits of the largest magnitude.
///
/// An infinity or a NaN gives a NaN scale over zeros: every product with the block is NaN, so the
/// fault stays visible. A block too small to scale is all zero.
#[inline]
fn scale(amax_bits: u32) -> (f32, f32) {
    let amax = f32::from_bits(amax_bits);
    if !amax.is_finite() {
        return (f32::NAN, 0.0);
    }
    let inverse = 127.0 / amax;
    if !inverse.is_finite() {
        return (0.0, 0.0);
    }
    (amax / 127.0, inverse)
}

/// Nearest integer, ties to even, never -128.
fn round(x: f32, inverse: f32) -> i8 {
    if inverse == 0.0 {
        return 0;
    }
    // Adding 1.5 x 2^23 leaves no bit for a fraction: the sum is rounded as the mode says, half to
    // even. The magnitude is at most about 127, so it always fits.
    const WHOLE: f32 = 12_582_912.0;
    let whole = (x * inverse + WHOLE) - WHOLE;
    whole.clamp(-127.0, 127.0) as i8
}
