//! Sums and SwiGLU, element by element.

#[cfg(target_arch = "x86_64")]
mod avx2;

use crate::isa::Isa;
use crate::math::silu;

/// `out = a + b`.
///
/// # Safety
/// `a` and `b` are valid for reads and `out` for writes of `n` elements; `out` equals `a` or `b`, or
/// overlaps neither. The CPU can run `isa`.
pub unsafe fn add(isa: Isa, a: *const f32, b: *const f32, out: *mut f32, n: usize) {
    // SAFETY: the caller's promise; that covers AVX2.
    unsafe {
        match isa {
            #[cfg(target_arch = "x86_64")]
            Isa::Avx2 => avx2::add(a, b, out, n),
            _ => each(a, b, out, 0..n, |a, b| a + b),
        }
    }
}

/// `out = silu(gate) * up`.
///
/// # Safety
/// As [`add`].
pub unsafe fn swiglu(isa: Isa, gate: *const f32, up: *const f32, out: *mut f32, n: usize) {
    // SAFETY: the caller's promise; that covers AVX2.
    unsafe {
        match isa {
            #[cfg(target_arch = "x86_64")]
            Isa::Avx2 => avx2::swiglu(gate, up, out, n),
            _ => each(gate, up, out, 0..n, |gate, up| silu(gate) * up),
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
