//! Sums, gated products, scales and caps, element by element.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "aarch64")]
mod neon;

use crate::isa::Isa;
use crate::math::{fma, gelu, silu, soft_cap};

/// `out = a + b`.
///
/// # Safety
/// `a` and `b` are valid for reads and `out` for writes of `n` elements; `out` equals `a` or `b`, or
/// overlaps neither. The CPU can run `isa`.
pub unsafe fn add(isa: Isa, a: *const f32, b: *const f32, out: *mut f32, n: usize) {
    // SAFETY: the caller's promise; that covers the instructions.
    unsafe {
        match isa.base() {
            #[cfg(target_arch = "x86_64")]
            Isa::Avx2 => avx2::add(a, b, out, n),
            _ => each(a, b, out, 0..n, |a, b| a + b),
        }
    }
}

/// Rows of equal length, some elements from one's first to the next one's.
#[derive(Clone, Copy)]
pub struct Strided<P> {
    /// The first row.
    pub ptr: P,
    /// Elements from a row to the next.
    pub stride: usize,
}

/// `out = a + b` for `rows` rows: short ones are too many for a call each.
///
/// # Safety
/// As [`add`], for each of the rows.
pub unsafe fn add_rows(
    isa: Isa,
    a: Strided<*const f32>,
    b: Strided<*const f32>,
    out: Strided<*mut f32>,
    rows: usize,
    n: usize,
) {
    // SAFETY: the caller's promise; that covers the instructions.
    unsafe {
        match isa.base() {
            #[cfg(target_arch = "x86_64")]
            Isa::Avx2 => avx2::add_rows(a, b, out, rows, n),
            _ => {
                for row in 0..rows {
                    let (a, b) = (a.ptr.add(row * a.stride), b.ptr.add(row * b.stride));
                    each(a, b, out.ptr.add(row * out.stride), 0..n, |a, b| a + b);
                }
            }
        }
    }
}

/// `out = silu(gate) * up`.
///
/// # Safety
/// As [`add`].
pub unsafe fn swiglu(isa: Isa, gate: *const f32, up: *const f32, out: *mut f32, n: usize) {
    // SAFETY: the caller's promise; that covers the instructions.
    unsafe {
        match isa.base() {
            #[cfg(target_arch = "x86_64")]
            Isa::Avx2 => avx2::swiglu(gate, up, out, n),
            #[cfg(target_arch = "aarch64")]
            Isa::Neon => neon::swiglu(gate, up, out, n),
            _ => each(gate, up, out, 0..n, |gate, up| silu(gate) * up),
        }
    }
}

/// `out = gelu(gate) * up`, GELU in its tanh form.
///
/// # Safety
/// As [`add`].
pub unsafe fn geglu(isa: Isa, gate: *const f32, up: *const f32, out: *mut f32, n: usize) {
    // SAFETY: the caller's promise; that covers the instructions.
    unsafe {
        match isa.base() {
            #[cfg(target_arch = "x86_64")]
            Isa::Avx2 => avx2::geglu(gate, up, out, n),
            #[cfg(target_arch = "aarch64")]
            Isa::Neon => neon::geglu(gate, up, out, n),
            _ => each(gate, up, out, 0..n, |gate, up| gelu(gate) * up),
        }
    }
}

/// `out = gelu(x)`, GELU in its tanh form.
///
/// # Safety
/// As [`add`], without `b`.
pub unsafe fn gelu_row(isa: Isa, x: *const f32, out: *mut f32, n: usize) {
    // SAFETY: the caller's promise; that covers AVX2.
    unsafe {
        match isa.base() {
            #[cfg(target_arch = "x86_64")]
            Isa::Avx2 => avx2::gelu_row(x, out, n),
            _ => each(x, x, out, 0..n, |x, _| gelu(x)),
        }
    }
}

/// `out = x * factor`. One multiplication vectorizes by itself, so there is one code for every tier.
///
/// # Safety
/// As [`add`], without `b`.
pub unsafe fn scale(x: *const f32, factor: f32, out: *mut f32, n: usize) {
    // SAFETY: the caller's promise.
    unsafe { each(x, x, out, 0..n, |x, _| x * factor) }
}

/// `out = x + y * factor`, by fma.
///
/// # Safety
/// As [`add`].
pub unsafe fn add_scaled(isa: Isa, x: *const f32, y: *const f32, factor: f32, out: *mut f32, n: usize) {
    // SAFETY: the caller's promise; that covers the instructions.
    unsafe {
        match isa.base() {
            #[cfg(target_arch = "x86_64")]
            Isa::Avx2 => avx2::add_scaled(x, y, factor, out, n),
            _ => each(x, y, out, 0..n, |x, y| fma(y, factor, x)),
        }
    }
}

/// `out = cap tanh(x / cap)`.
///
/// # Safety
/// As [`add`], without `b`.
pub unsafe fn cap(isa: Isa, x: *const f32, cap: f32, out: *mut f32, n: usize) {
    // SAFETY: the caller's promise; that covers the instructions.
    unsafe {
        match isa.base() {
            #[cfg(target_arch = "x86_64")]
            Isa::Avx2 => avx2::cap(x, cap, out, n),
            #[cfg(target_arch = "aarch64")]
            Isa::Neon => neon::cap(x, cap, out, n),
            _ => each(x, x, out, 0..n, |x, _| soft_cap(x, cap)),
        }
    }
}

/// `out[i] = f(a[i], b[i])` for the elements of `range`.
///
/// # Safety
/// As [`add`], for that range.
#[inline]
unsafe fn each(
    a: *const f32,
    b: *const f32,
    out: *mut f32,
    range: std::ops::Range<usize>,
    f: impl Fn(f32, f32) -> f32,
) {
    for i in range {
        // SAFETY: the caller's promise.
        unsafe { *out.add(i) = f(*a.add(i), *b.add(i)) };
    }
}
