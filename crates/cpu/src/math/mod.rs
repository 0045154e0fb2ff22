//! Functions of one variable and the one tree that adds partial sums: the same operations in every
//! tier, never the C library's.

#[cfg(target_arch = "x86_64")]
pub(crate) mod avx2;
#[cfg(target_arch = "aarch64")]
pub(crate) mod neon;

pub(crate) use crate::matmul::fma;

/// Partial sums of every long sum: element `k` goes to sum `k % LANES`.
pub(crate) const LANES: usize = 16;

/// Adds the partial sums: those 8 apart, then 4, 2 and 1.
#[inline]
pub(crate) fn tree(mut sums: [f32; LANES]) -> f32 {
    let mut apart = LANES / 2;
    while apart > 0 {
        for i in 0..apart {
            sums[i] += sums[i + apart];
        }
        apart /= 2;
    }
    sums[0]
}

/// Arguments below this give 0: the result would be less than half of the smallest denormal.
const EXP_MIN: f32 = -104.0;
/// Arguments above this give infinity.
const EXP_MAX: f32 = 89.0;
const LOG2_E: f32 = std::f32::consts::LOG2_E;
/// ln 2 as a sum of two floats.
const LN_2_HIGH: f32 = std::f32::consts::LN_2;
const LN_2_LOW: f32 = -1.904_654_2e-9;
/// 1.5 * 2^23: added to a small number, it leaves the nearest integer in the low bits.
const ROUND: f32 = 12_582_912.0;
/// `(e^r - 1 - r) / r^2` for |r| <= ln 2 / 2, highest power first: a polynomial of degree 4 through
/// the five Chebyshev nodes.
const EXP_POLYNOMIAL: [f32; 5] = [
    f32::from_bits(0x3ab6_88be),
    f32::from_bits(0x3c09_05f1),
    f32::from_bits(0x3d2a_aa8c),
    f32::from_bits(0x3e2a_aa6e),
    f32::from_bits(0x3f00_0000),
];

/// e to the power `x`, within 2 units in the last place.
///
/// Large arguments give infinity, very small ones 0, with denormals between; NaN stays NaN.
#[inline]
pub fn exp(x: f32) -> f32 {
    // Comparisons that keep NaN, as the vector instructions with these operands do.
    let x = if EXP_MIN > x { EXP_MIN } else { x };
    let x = if EXP_MAX < x { EXP_MAX } else { x };
    // x = n ln 2 + r
    let rounded = fma(x, LOG2_E, ROUND);
    let n = rounded - ROUND;
    let r = fma(n, -LN_2_HIGH, x);
    let r = fma(n, -LN_2_LOW, r);
    let mut q = EXP_POLYNOMIAL[0];
    for c in &EXP_POLYNOMIAL[1..] {
        q = fma(q, r, *c);
    }
    let p = fma(fma(q, r, 1.0), r, 1.0);
    // 2^n in two factors, since n reaches from -150 to 128; only the second product can round.
    let n = (rounded.to_bits() as i32).wrapping_sub(ROUND.to_bits() as i32);
    let half = n >> 1;
    p * power_of_two(half) * power_of_two(n.wrapping_sub(half))
}

/// 2^n for n from -126 to 127.
#[inline]
fn power_of_two(n: i32) -> f32 {
    f32::from_bits((n.wrapping_add(127) as u32) << 23)
}

/// `x / (1 + exp(-x))`.
#[inline]
pub fn silu(x: f32) -> f32 {
    x / (1.0 + exp(-x))
}

/// -2 sqrt(2 / pi)
const GELU_SCALE: f32 = -1.595_769_2;
const GELU_CUBIC: f32 = 0.044715;

/// GELU in its tanh form, `x / 2 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3)))`, which is
/// `x / (1 + exp(-2 sqrt(2 / pi) (x + 0.044715 x^3)))`.
#[inline]
pub fn gelu(x: f32) -> f32 {
    let inner = fma(x * x * GELU_CUBIC, x, x);
    x / (1.0 + exp(inner * GELU_SCALE))
}

/// `cap tanh(x / cap)`, with `tanh(y) = 1 - 2 / (exp(2 y) + 1)`.
#[inline]
pub fn soft_cap(x: f32, cap: f32) -> f32 {
    let y = x / cap;
    cap * (1.0 - 2.0 / (exp(y + y) + 1.0))
}
