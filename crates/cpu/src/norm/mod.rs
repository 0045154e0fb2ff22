//! RMS norm and layer norm.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "aarch64")]
mod neon;

use crate::isa::Isa;
use crate::math::{LANES, fma, tree};

/// Writes the norm of one row: `out = x / sqrt(mean(x^2) + eps) * w`.
///
/// `x`, `w` and `out` have the same length, at least 1. NUMERICS has the exact expression.
pub fn rms_norm_row(isa: Isa, x: &[f32], w: &[f32], eps: f32, out: &mut [f32]) {
    assert_eq!(x.len(), w.len());
    assert_eq!(out.len(), w.len());
    assert!(isa.is_available().is_ok());
    // SAFETY: the slices have one length, the CPU can run `isa`, and `out` cannot overlap `x`.
    unsafe { rms_norm_row_raw(isa, x.as_ptr(), w, eps, out.as_mut_ptr()) }
}

/// The same through pointers, so that `out` may be `x` itself.
///
/// # Safety
/// `x` and `out` are valid for `w.len()` elements, of reading and of writing; they are equal or do
/// not overlap. The CPU can run `isa`.
pub unsafe fn rms_norm_row_raw(isa: Isa, x: *const f32, w: &[f32], eps: f32, out: *mut f32) {
    assert!(!w.is_empty());
    // SAFETY: the caller's promise; that covers the instructions.
    unsafe {
        match isa.base() {
            #[cfg(target_arch = "x86_64")]
            Isa::Avx2 => avx2::rms_norm_row(x, w, eps, out),
            #[cfg(target_arch = "aarch64")]
            Isa::Neon => neon::rms_norm_row(x, w, eps, out),
            _ => scalar(x, w, eps, out),
        }
    }
}

/// Writes the layer norm of one row: `out = (x - mean(x)) / sqrt(mean((x - mean(x))^2) + eps) * w + b`.
///
/// All have the same length, at least 1. NUMERICS has the exact expression.
pub fn layer_norm_row(isa: Isa, x: &[f32], w: &[f32], b: &[f32], eps: f32, out: &mut [f32]) {
    assert_eq!(x.len(), w.len());
    assert_eq!(out.len(), w.len());
    assert!(isa.is_available().is_ok());
    // SAFETY: the slices have one length, the CPU can run `isa`, and `out` cannot overlap `x`.
    unsafe { layer_norm_row_raw(isa, x.as_ptr(), w, b, eps, out.as_mut_ptr()) }
}

/// The same through pointers, so that `out` may be `x` itself.
///
/// # Safety
/// As [`rms_norm_row_raw`].
pub unsafe fn layer_norm_row_raw(isa: Isa, x: *const f32, w: &[f32], b: &[f32], eps: f32, out: *mut f32) {
    assert!(!w.is_empty());
    assert_eq!(b.len(), w.len());
    // SAFETY: the caller's promise; that covers AVX2.
    unsafe {
        match isa.base() {
            #[cfg(target_arch = "x86_64")]
            Isa::Avx2 => avx2::layer_norm_row(x, w, b, eps, out),
            _ => layer_scalar(x, w, b, eps, out),
        }
    }
}

/// The factor of a row of `n` elements whose squares add up to `sum`.
fn factor(sum: f32, n: usize, eps: f32) -> f32 {
    1.0 / (sum / n as f32 + eps).sqrt()
}

/// # Safety
/// As [`rms_norm_row_raw`].
unsafe fn scalar(x: *const f32, w: &[f32], eps: f32, out: *mut f32) {
    let mut sums = [0.0; LANES];
    for k in 0..w.len() {
        // SAFETY: k < w.len(), and x has as many elements.
        let v = unsafe { *x.add(k) };
        sums[k % LANES] = fma(v, v, sums[k % LANES]);
    }
    let r = factor(tree(sums), w.len(), eps);
    for k in 0..w.len() {
        // SAFETY: as above; an element is read before it is overwritten, and never again.
        unsafe { *out.add(k) = *x.add(k) * (r * w[k]) };
    }
}

/// # Safety
/// As [`layer_norm_row_raw`].
unsafe fn layer_scalar(x: *const f32, w: &[f32], b: &[f32], eps: f32, out: *mut f32) {
    let n = w.len();
    let mut sums = [0.0; LANES];
    for k in 0..n {
        // SAFETY: k < w.len(), and x has as many elements.
        sums[k % LANES] += unsafe { *x.add(k) };
    }
    let mean = tree(sums) / n as f32;
    let mut squares = [0.0; LANES];
    for k in 0..n {
        // SAFETY: as above.
        let d = unsafe { *x.add(k) } - mean;
        squares[k % LANES] = fma(d, d, squares[k % LANES]);
    }
    let r = factor(tree(squares), n, eps);
    for k in 0..n {
        // SAFETY: as above; an element is read before it is overwritten, and never again.
        unsafe { *out.add(k) = fma((*x.add(k) - mean) * r, w[k], b[k]) };
    }
}
