//! Eight elements of a row of the cache, whatever its type.

use std::arch::x86_64::*;

use graph::DType;

use crate::kv::avx2::{bf16_eight, q4_0, q4_0_block, q8_0, q8_0_eight, scale_of};
use crate::kv::types::{BLOCK, Q4_0_BYTES, Q8_0_BYTES};

/// The types as numbers, since a const parameter cannot be an enum.
pub const F32: u8 = 0;
pub const F16: u8 = 1;
pub const BF16: u8 = 2;
pub const Q8_0: u8 = 3;
pub const Q4_0: u8 = 4;

/// Calls `$call::<TYPE>(...)`, a function or a method, for a [`DType`] of the cache.
macro_rules! by_dtype {
    ($dtype:expr, $($call:ident).+ ($($argument:expr),* $(,)?)) => {
        match $dtype {
            graph::DType::F32 => $($call).+::<{ crate::attention::avx2::load::F32 }>($($argument),*),
            graph::DType::F16 => $($call).+::<{ crate::attention::avx2::load::F16 }>($($argument),*),
            graph::DType::BF16 => $($call).+::<{ crate::attention::avx2::load::BF16 }>($($argument),*),
            graph::DType::Q8_0 => $($call).+::<{ crate::attention::avx2::load::Q8_0 }>($($argument),*),
            graph::DType::Q4_0 => $($call).+::<{ crate::attention::avx2::load::Q4_0 }>($($argument),*),
            other => unreachable!("no cache is of type {other}"),
        }
    };
}
pub(super) use by_dtype;

/// Elements `d` to `d + 7` of a row.
///
/// # Safety
/// The row is of type `TYPE` and has them; `d` is a multiple of 8. The CPU has AVX2 and F16C.
#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
pub unsafe fn eight<const TYPE: u8>(row: *const u8, d: usize) -> __m256 {
    // SAFETY: the caller's promise.
    unsafe {
        match TYPE {
            F32 => _mm256_loadu_ps(row.cast::<f32>().add(d)),
            F16 => _mm256_cvtph_ps(_mm_loadu_si128(row.cast::<u16>().add(d).cast())),
            BF16 => bf16_eight(row.cast::<u16>().add(d)),
            Q8_0 => q8_0(row, d),
            Q4_0 => q4_0(row, d),
            _ => unreachable!(),
        }
    }
}

/// Elements `d` to `d + 8 V - 1` of a row.
///
/// # Safety
/// As [`eight`]; if `V` is 4, `d` is a multiple of 32 in rows of Q8_0 and Q4_0.
#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
pub unsafe fn many<const TYPE: u8, const V: usize>(row: *const u8, d: usize) -> [__m256; V] {
    // SAFETY: the caller's promise.
    unsafe {
        // Of a whole block the scale is read once.
        if TYPE == Q8_0 && V == 4 {
            let block = row.add(d / BLOCK * Q8_0_BYTES);
            let scale = scale_of(block);
            std::array::from_fn(|v| q8_0_eight(block.add(2 + 8 * v), scale))
        } else if TYPE == Q4_0 && V == 4 {
            let floats = q4_0_block(row.add(d / BLOCK * Q4_0_BYTES));
            std::array::from_fn(|v| floats[v])
        } else {
            std::array::from_fn(|v| eight::<TYPE>(row, d + 8 * v))
        }
    }
}

/// Element `d` of a row of F32, F16 or BF16. (Rows of blocks have whole vectors.)
///
/// # Safety
/// The row is of type `dtype` and has it.
pub unsafe fn one(dtype: DType, row: *const u8, d: usize) -> f32 {
    // SAFETY: the caller's promise.
    unsafe {
        match dtype {
            DType::F32 => row.cast::<f32>().add(d).read(),
            DType::F16 => row.cast::<half::f16>().add(d).read().to_f32(),
            DType::BF16 => row.cast::<half::bf16>().add(d).read().to_f32(),
            other => unreachable!("rows of {other} have whole vectors"),
        }
    }
}
