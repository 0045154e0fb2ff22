//! Floats of any width, four at a time.

use std::arch::aarch64::*;

use half::{bf16, f16};

use super::{four_bf16, four_f16};

/// A type of floats in memory, at any alignment.
pub trait Float {
    /// Bytes of an element.
    const BYTES: usize;

    /// # Safety
    /// The CPU has NEON, and four elements can be read.
    unsafe fn four(at: *const u8) -> float32x4_t;

    /// # Safety
    /// One element can be read.
    unsafe fn one(at: *const u8) -> f32;
}

pub struct F32;
pub struct F16;
pub struct BF16;

impl Float for F32 {
    const BYTES: usize = 4;

    #[inline]
    #[target_feature(enable = "neon")]
    unsafe fn four(at: *const u8) -> float32x4_t {
        // SAFETY: the caller's.
        unsafe { vld1q_f32(at.cast()) }
    }

    #[inline]
    unsafe fn one(at: *const u8) -> f32 {
        // SAFETY: the caller's.
        unsafe { at.cast::<f32>().read_unaligned() }
    }
}

impl Float for F16 {
    const BYTES: usize = 2;

    #[inline]
    #[target_feature(enable = "neon")]
    unsafe fn four(at: *const u8) -> float32x4_t {
        // SAFETY: the caller's.
        unsafe { four_f16(at.cast()) }
    }

    #[inline]
    unsafe fn one(at: *const u8) -> f32 {
        // SAFETY: the caller's.
        f16::from_bits(unsafe { at.cast::<u16>().read_unaligned() }).to_f32()
    }
}

impl Float for BF16 {
    const BYTES: usize = 2;

    #[inline]
    #[target_feature(enable = "neon")]
    unsafe fn four(at: *const u8) -> float32x4_t {
        // SAFETY: the caller's.
        unsafe { four_bf16(at.cast()) }
    }

    #[inline]
    unsafe fn one(at: *const u8) -> f32 {
        // SAFETY: the caller's.
        bf16::from_bits(unsafe { at.cast::<u16>().read_unaligned() }).to_f32()
    }
}
