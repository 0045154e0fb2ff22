//! Matrix products: weights of any type times activations, every element summed in one written order.
//!
//! The order is in `NUMERICS.md`, section "Matrix products". The scalar tier is that text as code; every
//! other tier gives the same bits, for one token or many, for any range of rows.

use std::ops::Range;

use graph::DType;

use crate::isa::Isa;

#[cfg(target_arch = "x86_64")]
mod avx2;
mod block32;
mod dequantize;
mod fma;
#[cfg(target_arch = "aarch64")]
mod neon;
mod scalar;
mod super_block;

pub use dequantize::dequantize_row;
pub use fma::fma;

/// Ranges of rows that start at multiples of this run at full speed. Any range is right.
pub const ROW_STEP: usize = 32;

/// A weight matrix as it lies in the file: rows one after the other, each of `cols` elements.
#[derive(Clone, Copy)]
pub struct Weights<'a> {
    /// Any type but I32 and A32.
    pub dtype: DType,
    /// Elements of a row, whole blocks of the type.
    pub cols: usize,
    /// Number of rows, which is the number of outputs of a token.
    pub rows: usize,
    /// `rows * dtype.row_bytes(cols)` bytes, of any alignment.
    pub data: &'a [u8],
}

impl<'a> Weights<'a> {
    /// Some of the rows.
    pub(crate) fn bytes(&self, rows: &Range<usize>) -> &'a [u8] {
        let row = self.dtype.row_bytes(self.cols);
        &self.data[rows.start * row..rows.end * row]
    }
}

/// The other factor: a row a token. The rows are [`DType::A32`] if the weights are quantized
/// (`DType::is_quantized`), else `f32`; see [`activation_dtype`].
#[derive(Clone, Copy)]
pub struct Activations<'a> {
    /// From the first byte of token 0 to at least the last of the last token, of any alignment.
    pub data: &'a [u8],
    /// Bytes from a token to the next.
    pub stride: usize,
    /// Number of tokens.
    pub tokens: usize,
}

/// Where the products go: that of token `t` and row `r` of the range to
/// `ptr + t * stride + (r - range.start)`.
#[derive(Clone, Copy)]
pub struct Output {
    /// The element of token 0 and the range's first row.
    pub ptr: *mut f32,
    /// Elements from a token to the next.
    pub stride: usize,
}

/// The type of activation rows that weights of `dtype` multiply.
pub const fn activation_dtype(dtype: DType) -> DType {
    if dtype.is_quantized() { DType::A32 } else { DType::F32 }
}

/// Multiplies the rows of the range with every token.
///
/// `scratch` has at least [`scratch_bytes`] bytes for that many tokens or more; what it holds does
/// not matter, and alignment to 64 bytes is best. No operand overlaps the output or the scratch.
///
/// # Panics
/// On a type that is no weight, and where shapes, slices and scratch do not fit each other or the
/// machine lacks `isa`: the caller has checked them.
///
/// # Safety
/// `y` points to `range.len()` elements for each token, `y.stride` apart, aligned for `f32`, that
/// are writable and that no other thread reads or writes meanwhile.
pub unsafe fn matmul(
    isa: Isa,
    w: &Weights,
    rows: Range<usize>,
    x: &Activations,
    y: &Output,
    scratch: &mut [u8],
) {
    assert!(rows.start <= rows.end);
    assert!(rows.end <= w.rows);
    assert_eq!(w.data.len(), w.rows * w.dtype.row_bytes(w.cols));
    if rows.is_empty() || x.tokens == 0 {
        return;
    }
    let x_row = activation_dtype(w.dtype).row_bytes(w.cols);
    assert!(x.data.len() >= (x.tokens - 1) * x.stride + x_row);
    assert!(scratch.len() >= scratch_bytes(isa, w.dtype, w.cols, x.tokens));
    match isa {
        // SAFETY: the caller grants the output, and the inputs' sizes were checked.
        Isa::Scalar => unsafe { scalar::matmul(w, rows, x, y) },
        #[cfg(target_arch = "x86_64")]
        Isa::Avx2 => {
            assert_eq!(isa.is_available(), Ok(()));
            // SAFETY: as above, the scratch is large enough, and the CPU has the instructions.
            unsafe { avx2::matmul(w, rows, x, y, scratch) }
        }
        #[cfg(target_arch = "x86_64")]
        Isa::AvxVnni | Isa::Avx512 => {
            assert_eq!(isa.is_available(), Ok(()));
            // SAFETY: as above.
            unsafe { avx2::vnni::matmul(registers(isa), w, rows, x, y, scratch) }
        }
        #[cfg(not(target_arch = "x86_64"))]
        Isa::Avx2 | Isa::AvxVnni | Isa::Avx512 => unreachable!("{:?}", isa.is_available()),
        #[cfg(target_arch = "aarch64")]
        Isa::Neon => {
            assert_eq!(isa.is_available(), Ok(()));
            // SAFETY: as above.
            unsafe { neon::matmul(w, rows, x, y, scratch) }
        }
        #[cfg(not(target_arch = "aarch64"))]
        Isa::Neon => unreachable!("{:?}", isa.is_available()),
    }
}

/// Bytes of scratch that a thread needs in [`matmul`] for any number of tokens up to `tokens`.
pub fn scratch_bytes(isa: Isa, dtype: DType, cols: usize, tokens: usize) -> usize {
    match isa {
        Isa::Scalar => 0,
        #[cfg(target_arch = "x86_64")]
        Isa::Avx2 => avx2::scratch_bytes(dtype, cols, tokens),
        #[cfg(target_arch = "x86_64")]
        Isa::AvxVnni | Isa::Avx512 => avx2::vnni::scratch_bytes(dtype, cols, tokens),
        #[cfg(not(target_arch = "x86_64"))]
        Isa::Avx2 | Isa::AvxVnni | Isa::Avx512 => {
            unreachable!("{:?}, {dtype}, {cols}, {tokens}", isa.is_available())
        }
        #[cfg(target_arch = "aarch64")]
        Isa::Neon => neon::scratch_bytes(dtype, cols, tokens),
        #[cfg(not(target_arch = "aarch64"))]
        Isa::Neon => unreachable!("{:?}, {dtype}, {cols}, {tokens}", isa.is_available()),
    }
}

#[cfg(target_arch = "x86_64")]
fn registers(isa: Isa) -> avx2::vnni::Registers {
    if isa == Isa::Avx512 { avx2::vnni::Registers::Wide } else { avx2::vnni::Registers::Narrow }
}
