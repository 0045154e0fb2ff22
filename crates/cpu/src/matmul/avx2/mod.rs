//! AVX2 kernels of the matrix products.
//!
//! Types in blocks of 32 share two kernels, `few` and `panel`; a type is one implementation of
//! `Block32`. Types in blocks of 256 share `super_kernel`; a type is one implementation of
//! `SuperBlock`. Floats have theirs in `float`.

use std::ops::Range;

use graph::DType;

use super::{Activations, Output, Weights};

mod block32;
mod few;
mod float;
mod iq4;
mod lanes;
mod panel;
mod q2_k;
mod q3_k;
mod q4;
mod q4_k;
mod q5;
mod q5_k;
mod q6_k;
mod q8;
mod super_block;
mod super_kernel;
pub(super) mod vnni;

use block32::Block32;

/// Tokens from which on unpacking a panel pays: where [`few`] would need a second pass.
const PANEL_TOKENS: usize = few::TOKENS + 1;

/// # Safety
/// The CPU has AVX2, FMA and F16C; otherwise as [`super::matmul`], whose checks were made.
pub(super) unsafe fn matmul(
    w: &Weights,
    rows: Range<usize>,
    x: &Activations,
    y: &Output,
    scratch: &mut [u8],
) {
    // SAFETY: the same conditions.
    unsafe {
        match w.dtype {
            DType::F32 => float::matmul::<float::F32>(w, rows, x, y),
            DType::F16 => float::matmul::<float::F16>(w, rows, x, y),
            DType::BF16 => float::matmul::<float::BF16>(w, rows, x, y),
            DType::Q4_0 => blocks::<q4::Q4_0>(w, rows, x, y, scratch),
            DType::Q4_1 => blocks::<q4::Q4_1>(w, rows, x, y, scratch),
            DType::Q5_0 => blocks::<q5::Q5_0>(w, rows, x, y, scratch),
            DType::Q5_1 => blocks::<q5::Q5_1>(w, rows, x, y, scratch),
            DType::Q8_0 => blocks::<q8::Q8_0>(w, rows, x, y, scratch),
            DType::Q2_K => super_kernel::matmul::<q2_k::Q2K>(w, rows, x, y, scratch),
            DType::Q3_K => super_kernel::matmul::<q3_k::Q3K>(w, rows, x, y, scratch),
            DType::Q4_K => super_kernel::matmul::<q4_k::Q4K>(w, rows, x, y, scratch),
            DType::Q5_K => super_kernel::matmul::<q5_k::Q5K>(w, rows, x, y, scratch),
            DType::Q6_K => super_kernel::matmul::<q6_k::Q6K>(w, rows, x, y, scratch),
            DType::IQ4_NL => blocks::<iq4::Iq4Nl>(w, rows, x, y, scratch),
            DType::IQ4_XS => super_kernel::matmul::<iq4::Iq4Xs>(w, rows, x, y, scratch),
            DType::I32 | DType::A32 => panic!("{} is no type of weights", w.dtype),
        }
    }
}

pub(super) fn scratch_bytes(dtype: DType, cols: usize, tokens: usize) -> usize {
    match dtype {
        DType::F32 | DType::F16 | DType::BF16 => 0,
        DType::Q4_0 => blocks_scratch_bytes::<q4::Q4_0>(cols, tokens),
        DType::Q4_1 => blocks_scratch_bytes::<q4::Q4_1>(cols, tokens),
        DType::Q5_0 => blocks_scratch_bytes::<q5::Q5_0>(cols, tokens),
        DType::Q5_1 => blocks_scratch_bytes::<q5::Q5_1>(cols, tokens),
        DType::Q8_0 => blocks_scratch_bytes::<q8::Q8_0>(cols, tokens),
        DType::Q2_K => super_kernel::scratch_bytes::<q2_k::Q2K>(cols, tokens),
        DType::Q3_K => super_kernel::scratch_bytes::<q3_k::Q3K>(cols, tokens),
        DType::Q4_K => super_kernel::scratch_bytes::<q4_k::Q4K>(cols, tokens),
        DType::Q5_K => super_kernel::scratch_bytes::<q5_k::Q5K>(cols, tokens),
        DType::Q6_K => super_kernel::scratch_bytes::<q6_k::Q6K>(cols, tokens),
        DType::IQ4_NL => blocks_scratch_bytes::<iq4::Iq4Nl>(cols, tokens),
        DType::IQ4_XS => super_kernel::scratch_bytes::<iq4::Iq4Xs>(cols, tokens),
        DType::I32 | DType::A32 => panic!("{dtype} is no type of weights"),
    }
}

/// # Safety
/// As [`matmul`].
unsafe fn blocks<T: Block32>(
    w: &Weights,
    rows: Range<usize>,
    x: &Activations,
    y: &Output,
    scratch: &mut [u8],
) {
    // SAFETY: the same conditions.
    unsafe {
        if x.tokens < PANEL_TOKENS {
            few::matmul::<T>(w, rows, x, y);
        } else {
            panel::matmul::<T>(w, rows, x, y, scratch);
        }
    }
}

fn blocks_scratch_bytes<T: Block32>(cols: usize, tokens: usize) -> usize {
    if tokens < PANEL_TOKENS { 0 } else { panel::scratch_bytes::<T>(cols) }
}
