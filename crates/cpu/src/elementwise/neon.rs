//! Four lanes of the functions that are applied element by element. Sums need no code of their own: the compiler makes
//! vectors of them.

use std::arch::aarch64::*;

use super::each;
use crate::math;
use crate::math::neon::{gelu, silu, soft_cap};

/// # Safety
/// As [`super::swiglu`], on a CPU with NEON.
#[target_feature(enable = "neon")]
pub unsafe fn swiglu(gate: *const f32, up: *const f32, out: *mut f32, n: usize) {
    let whole = n / 4 * 4;
    // SAFETY: the elements are below n.
    unsafe {
        for i in (0..whole).step_by(4) {
            let product = vmulq_f32(silu(vld1q_f32(gate.add(i))), vld1q_f32(up.add(i)));
            vst1q_f32(out.add(i), product);
        }
        each(gate, up, out, whole..n, |gate, up| math::silu(gate) * up);
    }
}

/// # Safety
/// As [`super::geglu`], on a CPU with NEON.
#[target_feature(enable = "neon")]
pub unsafe fn geglu(gate: *const f32, up: *const f32, out: *mut f32, n: usize) {
    let whole = n / 4 * 4;
    // SAFETY: the elements are below n.
    unsafe {
        for i in (0..whole).step_by(4) {
            let product = vmulq_f32(gelu(vld1q_f32(gate.add(i))), vld1q_f32(up.add(i)));
            vst1q_f32(out.add(i), product);
        }
        each(gate, up, out, whole..n, |gate, up| math::gelu(gate) * up);
    }
}

/// # Safety
/// As [`super::cap`], on a CPU with NEON.
#[target_feature(enable = "neon")]
pub unsafe fn cap(x: *const f32, cap: f32, out: *mut f32, n: usize) {
    let whole = n / 4 * 4;
    // SAFETY: the elements are below n.
    unsafe {
        for i in (0..whole).step_by(4) {
            vst1q_f32(out.add(i), soft_cap(vld1q_f32(x.add(i)), vdupq_n_f32(cap)));
        }
        each(x, x, out, whole..n, |x, _| math::soft_cap(x, cap));
    }
}
