//! Kernels with the instruction for dot products of bytes, VNNI: `dpbusd` adds the four products of
//! unsigned and signed bytes to each 32-bit lane.
//!
//! Weights are unpacked as for AVX2, a row in each lane; the sums of 16 bits, and what types do to keep
//! them small, fall away. One generic body serves 512 bits (AVX-512) and 256 (AVX-VNNI, or AVX-512 with
//! shorter registers, which the tests can run where the former is missing).

use std::ops::Range;

use graph::DType;

use super::super::{Activations, Output, Weights};
use super::panel::{TOKENS_BYTES, TOKENS_MIN};
use super::{iq4, q2_k, q3_k, q4, q4_k, q5, q5_k, q6_k, q8};

mod few;
mod iq4_xs;
mod panel;
mod pass;
mod tile;
mod vector;

use panel::{Of32, Of256, Panel};
use vector::{Narrow, Vector, Wide};

/// The registers that kernels use.
#[derive(Clone, Copy)]
pub(in crate::matmul) enum Registers {
    /// 512 bits.
    Wide,
    /// 256 bits.
    Narrow,
}

/// Calls a function for the type of a weight.
macro_rules! for_type {
    ($dtype:expr, $function:ident::<$v:ty>($($arg:expr),*)) => {
        match $dtype {
            DType::Q4_0 => $function::<$v, Of32<q4::Q4_0>>($($arg),*),
            DType::Q4_1 => $function::<$v, Of32<q4::Q4_1>>($($arg),*),
            DType::Q5_0 => $function::<$v, Of32<q5::Q5_0>>($($arg),*),
            DType::Q5_1 => $function::<$v, Of32<q5::Q5_1>>($($arg),*),
            DType::Q8_0 => $function::<$v, Of32<q8::Q8_0>>($($arg),*),
            DType::Q2_K => $function::<$v, Of256<q2_k::Q2K>>($($arg),*),
            DType::Q3_K => $function::<$v, Of256<q3_k::Q3K>>($($arg),*),
            DType::Q4_K => $function::<$v, Of256<q4_k::Q4K>>($($arg),*),
            DType::Q5_K => $function::<$v, Of256<q5_k::Q5K>>($($arg),*),
            DType::Q6_K => $function::<$v, Of256<q6_k::Q6K>>($($arg),*),
            DType::IQ4_NL => $function::<$v, Of32<iq4::Iq4Nl>>($($arg),*),
            DType::IQ4_XS => $function::<$v, Of256<iq4_xs::Iq4Xs>>($($arg),*),
            DType::F32 | DType::F16 | DType::BF16 | DType::I32 | DType::A32 => unreachable!("{}", $dtype),
        }
    };
}

/// # Safety
/// The CPU has the instructions of the registers; otherwise as [`super::super::matmul`], whose checks
/// were made.
pub(in crate::matmul) unsafe fn matmul(
    registers: Registers,
    w: &Weights,
    rows: Range<usize>,
    x: &Activations,
    y: &Output,
    scratch: &mut [u8],
) {
    // SAFETY: the same conditions.
    unsafe {
        // Of a super-block's product with one token most is unpacking, and AVX2 does the rest as quickly.
        if !w.dtype.is_quantized() || x.tokens == 1 && is_k_quant(w.dtype) {
            return super::matmul(w, rows, x, y, scratch);
        }
        match registers {
            Registers::Wide => for_type!(w.dtype, tokens::<Wide>(w, rows, x, y, scratch)),
            Registers::Narrow if std::arch::is_x86_feature_detected!("avxvnni") => {
                for_type!(w.dtype, tokens::<Narrow<true>>(w, rows, x, y, scratch))
            }
            Registers::Narrow => for_type!(w.dtype, tokens::<Narrow<false>>(w, rows, x, y, scratch)),
        }
    }
}

pub(in crate::matmul) fn scratch_bytes(dtype: DType, cols: usize, tokens: usize) -> usize {
    if !dtype.is_quantized() {
        return super::scratch_bytes(dtype, cols, tokens);
    }
    // The widest registers need the most; a panel is as large as AVX2's.
    for_type!(dtype, scratch_bytes_of::<Wide>(cols, tokens))
}

fn scratch_bytes_of<V: Vector, T: Panel>(cols: usize, tokens: usize) -> usize {
    pass::scratch_bytes::<V, T>(tokens.min(tokens_step(cols)))
}

/// Tokens that pass over the rows together: their activations stay in the second-level cache.
fn tokens_step(cols: usize) -> usize {
    (TOKENS_BYTES / DType::A32.row_bytes(cols).max(1)).max(TOKENS_MIN)
}

const fn is_k_quant(dtype: DType) -> bool {
    matches!(dtype, DType::Q2_K | DType::Q3_K | DType::Q4_K | DType::Q5_K | DType::Q6_K)
}

/// # Safety
/// As [`matmul`].
unsafe fn tokens<V: Vector, T: Panel>(
    w: &Weights,
    rows: Range<usize>,
    x: &Activations,
    y: &Output,
    scratch: &mut [u8],
) {
    // SAFETY: the caller's.
    if unsafe { T::few::<V>(w, rows.clone(), x, y) } {
        return;
    }
    let step = tokens_step(w.cols);
    for token in (0..x.tokens).step_by(step) {
        let tokens = token..x.tokens.min(token + step);
        // SAFETY: the caller's; the tokens are some of all.
        unsafe { V::pass::<T>(w, rows.clone(), x, tokens, y, scratch) };
    }
}
