//! Eight lanes of the element by element operations.

use std::arch::x86_64::*;

use super::{Strided, each};
use crate::math;
use crate::math::avx2::{gelu, silu, soft_cap};

/// # Safety
/// As [`super::add`], on a CPU with AVX2 and FMA.
#[target_feature(enable = "avx2,fma,f16c")]
pub unsafe fn add(a: *const f32, b: *const f32, out: *mut f32, n: usize) {
    let whole = n / 8 * 8;
    // SAFETY: the elements are below n.
    unsafe {
        for i in (0..whole).step_by(8) {
            let sum = _mm256_add_ps(_mm256_loadu_ps(a.add(i)), _mm256_loadu_ps(b.add(i)));
            _mm256_storeu_ps(out.add(i), sum);
        }
        each(a, b, out, whole..n, |a, b| a + b);
    }
}

/// # Safety
/// As [`super::add_rows`], on a CPU with AVX2 and FMA.
#[target_feature(enable = "avx2,fma,f16c")]
pub unsafe fn add_rows(
    a: Strided<*const f32>,
    b: Strided<*const f32>,
    out: Strided<*mut f32>,
    rows: usize,
    n: usize,
) {
    for row in 0..rows {
        // SAFETY: the caller's promise for each row.
        unsafe {
            let (a, b) = (a.ptr.add(row * a.stride), b.ptr.add(row * b.stride));
            add(a, b, out.ptr.add(row * out.stride), n);
        }
    }
}

/// # Safety
/// As [`super::swiglu`], on a CPU with AVX2 and FMA.
#[target_feature(enable = "avx2,fma,f16c")]
pub unsafe fn swiglu(gate: *const f32, up: *const f32, out: *mut f32, n: usize) {
    let whole = n / 8 * 8;
    // SAFETY: the elements are below n.
    unsafe {
        for i in (0..whole).step_by(8) {
            let gate = silu(_mm256_loadu_ps(gate.add(i)));
            let product = _mm256_mul_ps(gate, _mm256_loadu_ps(up.add(i)));
            _mm256_storeu_ps(out.add(i), product);
        }
        each(gate, up, out, whole..n, |gate, up| math::silu(gate) * up);
    }
}

/// # Safety
/// As [`super::geglu`], on a CPU with AVX2 and FMA.
#[target_feature(enable = "avx2,fma,f16c")]
pub unsafe fn geglu(gate: *const f32, up: *const f32, out: *mut f32, n: usize) {
    let whole = n / 8 * 8;
    // SAFETY: the elements are below n.
    unsafe {
        for i in (0..whole).step_by(8) {
            let gate = gelu(_mm256_loadu_ps(gate.add(i)));
            let product = _mm256_mul_ps(gate, _mm256_loadu_ps(up.add(i)));
            _mm256_storeu_ps(out.add(i), product);
        }
        each(gate, up, out, whole..n, |gate, up| math::gelu(gate) * up);
    }
}

/// # Safety
/// As [`super::gelu_row`], on a CPU with AVX2 and FMA.
#[target_feature(enable = "avx2,fma,f16c")]
pub unsafe fn gelu_row(x: *const f32, out: *mut f32, n: usize) {
    let whole = n / 8 * 8;
    // SAFETY: the elements are below n.
    unsafe {
        for i in (0..whole).step_by(8) {
            _mm256_storeu_ps(out.add(i), gelu(_mm256_loadu_ps(x.add(i))));
        }
        each(x, x, out, whole..n, |x, _| math::gelu(x));
    }
}

/// # Safety
/// As [`super::cap`], on a CPU with AVX2 and FMA.
#[target_feature(enable = "avx2,fma,f16c")]
pub unsafe fn cap(x: *const f32, cap: f32, out: *mut f32, n: usize) {
    let whole = n / 8 * 8;
    // SAFETY: the elements are below n.
    unsafe {
        for i in (0..whole).step_by(8) {
            let capped = soft_cap(_mm256_loadu_ps(x.add(i)), _mm256_set1_ps(cap));
            _mm256_storeu_ps(out.add(i), capped);
        }
        each(x, x, out, whole..n, |x, _| math::soft_cap(x, cap));
    }
}

/// # Safety
/// As [`super::add_scaled`], on a CPU with AVX2 and FMA.
#[target_feature(enable = "avx2,fma,f16c")]
pub unsafe fn add_scaled(x: *const f32, y: *const f32, factor: f32, out: *mut f32, n: usize) {
    let whole = n / 8 * 8;
    // SAFETY: the elements are below n.
    unsafe {
        for i in (0..whole).step_by(8) {
            let y = _mm256_loadu_ps(y.add(i));
            let sum = _mm256_fmadd_ps(y, _mm256_set1_ps(factor), _mm256_loadu_ps(x.add(i)));
            _mm256_storeu_ps(out.add(i), sum);
        }
        each(x, y, out, whole..n, |x, y| math::fma(y, factor, x));
    }
}
