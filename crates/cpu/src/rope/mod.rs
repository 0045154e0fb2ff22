//! Rotary position embedding.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "aarch64")]
mod neon;

use graph::op::RopeScaling;

pub use graph::op::RopePairs;

use crate::isa::Isa;
use crate::math::fma;

/// Cosines, then sines, of the `rot / 2` angles of a position.
///
/// The angle of pair `j` is `position * base^(-2 j / rot) / factors[j]`, computed in f64 by code that
/// gives the same bits everywhere, and only the cosine and sine are rounded to f32. `factors` has
/// `rot / 2` elements, `out` has `rot`. `scaling` stretches the angles and lengthens the results.
pub fn rope_table(
    position: i32,
    rot: usize,
    base: f32,
    scaling: &RopeScaling,
    factors: Option<&[f32]>,
    out: &mut [f32],
) {
    assert!(rot.is_multiple_of(2));
    assert_eq!(out.len(), rot);
    let (cos, sin) = out.split_at_mut(rot / 2);
    if let Some(factors) = factors {
        assert_eq!(factors.len(), rot / 2);
    }
    for j in 0..rot / 2 {
        let power = libm::pow(f64::from(base), -((2 * j) as f64) / rot as f64);
        let factor = factors.map_or(1.0, |f| f64::from(f[j]));
        let angle = f64::from(position) * power / factor * stretch(scaling, j, rot, base);
        let length = f64::from(scaling.attn_factor);
        cos[j] = (libm::cos(angle) * length) as f32;
        sin[j] = (libm::sin(angle) * length) as f32;
    }
}

/// What the angle of pair `j` is multiplied by, in f64: `s (1 - r) + r`, where `s` is the scale of positions and `r`
/// is `ext_factor` times a ramp over the pairs that falls from 1 (fast) to 0 (slow).
fn stretch(scaling: &RopeScaling, j: usize, rot: usize, base: f32) -> f64 {
    let scale = f64::from(scaling.freq_scale);
    if scaling.ext_factor == 0.0 {
        return scale;
    }
    // The pair that turns `beta` times within the original context.
    let pair = |beta: f32| {
        let turns = scaling.n_ctx_orig as f64 / (f64::from(beta) * 2.0 * std::f64::consts::PI);
        rot as f64 * libm::log(turns) / (2.0 * libm::log(f64::from(base)))
    };
    let low = libm::floor(pair(scaling.beta_fast)).max(0.0);
    let high = libm::ceil(pair(scaling.beta_slow)).min(rot as f64 - 1.0);
    let along = ((j as f64 - low) / (high - low).max(0.001)).clamp(0.0, 1.0);
    let ramp = f64::from(scaling.ext_factor) * (1.0 - along);
    scale * (1.0 - ramp) + ramp
}

/// Turns the first `rot` dimensions of each head of one token in place; the others stay.
///
/// `x` holds `heads` rows of `head_dim` elements; `table` is what [`rope_table`] wrote.
///
/// # Safety
/// `x` is valid for reads and writes of `heads * head_dim` elements. The CPU can
/// run `isa`.
pub unsafe fn rope_row(
    isa: Isa,
    x: *mut f32,
    heads: usize,
    head_dim: usize,
    rot: usize,
    pairs: RopePairs,
    table: &[f32],
) {
    assert!(rot.is_multiple_of(2));
    assert!(rot <= head_dim);
    assert_eq!(table.len(), rot);
    let (cos, sin) = table.split_at(rot / 2);
    for head in 0..heads {
        // SAFETY: the head lies in x; cos and sin have rot / 2 elements each. The CPU can run `isa`.
        unsafe {
            let x = x.add(head * head_dim);
            match isa.base() {
                #[cfg(target_arch = "x86_64")]
                Isa::Avx2 => avx2::turn(x, pairs, cos, sin),
                #[cfg(target_arch = "aarch64")]
                Isa::Neon => neon::turn(x, pairs, cos, sin),
                _ => turn(x, pairs, cos, sin, 0),
            }
        }
    }
}

/// Turns the pairs of one head from pair `first` on.
///
/// # Safety
/// `x` is valid for reads and writes of `2 * cos.len()` elements.
#[inline]
unsafe fn turn(x: *mut f32, pairs: RopePairs, cos: &[f32], sin: &[f32], first: usize) {
    let half = cos.len();
    for j in first..half {
        let (i0, i1) = match pairs {
            RopePairs::Neighbours => (2 * j, 2 * j + 1),
            RopePairs::Halves => (j, j + half),
        };
        // SAFETY: both indexes are below 2 * half.
        unsafe {
            let (x0, x1) = (*x.add(i0), *x.add(i1));
            *x.add(i0) = fma(x0, cos[j], -(x1 * sin[j]));
            *x.add(i1) = fma(x1, cos[j], x0 * sin[j]);
        }
    }
}
