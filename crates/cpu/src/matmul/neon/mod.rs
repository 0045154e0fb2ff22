//! NEON kernels of the matrix products, with dot products of signed bytes.
//!
//! All quantized types are unpacked into one form, a [`panel`]: eight rows times up to 256 columns of signed bytes, a row in
//! each 32-bit lane, with floats as scales. All tokens multiply it ([`tile`]), then comes the next ([`pass`]). A few tokens
//! multiply blocks of 32 without it ([`few`]). A type is one implementation of [`Block32`](block32::Block32) or of
//! [`SuperBlock`](super_block::SuperBlock). Floats have their kernel in [`float`].

use std::arch::aarch64::*;
use std::ops::Range;

use graph::DType;

use super::{Activations, Output, Weights};
use crate::kv::neon::{BF16, F16, F32};

mod block32;
mod few;
mod float;
mod iq4;
mod panel;
mod pass;
mod q2_k;
mod q4;
mod q4_k;
mod q5;
mod q6_k;
mod q8;
mod super_block;
mod tile;

use block32::Of32;
use super_block::Of256;

/// Calls `$call::<KIND>($arguments)` for the kind of panel of a quantized type.
macro_rules! for_type {
    ($dtype:expr, $call:ident($($argument:expr),*)) => {
        match $dtype {
            DType::Q4_0 => $call::<Of32<q4::Q4_0>>($($argument),*),
            DType::Q4_1 => $call::<Of32<q4::Q4_1>>($($argument),*),
            DType::Q5_0 => $call::<Of32<q5::Q5_0>>($($argument),*),
            DType::Q5_1 => $call::<Of32<q5::Q5_1>>($($argument),*),
            DType::Q8_0 => $call::<Of32<q8::Q8_0>>($($argument),*),
            DType::IQ4_NL => $call::<Of32<iq4::Iq4Nl>>($($argument),*),
            DType::Q2_K => $call::<Of256<q2_k::Q2K>>($($argument),*),
            DType::Q3_K => $call::<Of256<q2_k::Q3K>>($($argument),*),
            DType::Q4_K => $call::<Of256<q4_k::Q4K>>($($argument),*),
            DType::Q5_K => $call::<Of256<q4_k::Q5K>>($($argument),*),
            DType::Q6_K => $call::<Of256<q6_k::Q6K>>($($argument),*),
            DType::IQ4_XS => $call::<Of256<iq4::Iq4Xs>>($($argument),*),
            DType::F32 | DType::F16 | DType::BF16 | DType::I32 | DType::A32 => {
                panic!("{} is no type of quantized weights", $dtype)
            }
        }
    };
}

/// # Safety
/// The CPU has NEON with dot products; otherwise as [`super::matmul`], whose checks were made.
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
            DType::F32 => float::matmul::<F32>(w, rows, x, y),
            DType::F16 => float::matmul::<F16>(w, rows, x, y),
            DType::BF16 => float::matmul::<BF16>(w, rows, x, y),
            quantized => for_type!(quantized, quantized_matmul(w, rows, x, y, scratch)),
        }
    }
}

pub(super) fn scratch_bytes(dtype: DType, cols: usize, tokens: usize) -> usize {
    if !dtype.is_quantized() {
        return 0;
    }
    for_type!(dtype, scratch_bytes_of(cols, tokens))
}

/// # Safety
/// As [`matmul`].
unsafe fn quantized_matmul<T: panel::Kind>(
    w: &Weights,
    rows: Range<usize>,
    x: &Activations,
    y: &Output,
    scratch: &mut [u8],
) {
    // SAFETY: the same conditions.
    unsafe {
        if !T::few(w, rows.clone(), x, y) {
            pass::matmul::<T>(w, rows, x, y, scratch);
        }
    }
}

fn scratch_bytes_of<T: panel::Kind>(cols: usize, tokens: usize) -> usize {
    if tokens <= T::FEW_TOKENS { 0 } else { pass::scratch_bytes(cols, tokens) }
}

/// Writes the first `count` of eight lanes.
///
/// # Safety
/// The CPU has NEON, and so many elements at `to` are writable.
#[inline]
#[target_feature(enable = "neon")]
unsafe fn store_lanes(to: *mut f32, lanes: [float32x4_t; 2], count: usize) {
    let mut all = [0f32; 8];
    // SAFETY: eight elements for eight, of which no more are copied than can be written.
    unsafe {
        vst1q_f32(all.as_mut_ptr(), lanes[0]);
        vst1q_f32(all.as_mut_ptr().add(4), lanes[1]);
        all.as_ptr().copy_to_nonoverlapping(to, count.min(8));
    }
}
