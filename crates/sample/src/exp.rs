//! The exponential that every machine computes alike.

/// Below this the exponential is taken as 0: 2^-115 of the largest weight, which no sum sees.
const LEAST: f32 = -80.0;

/// e to the power of `x`, for `x` at most 0; within 2e-7 of the exact value, relatively.
#[inline(always)]
pub(crate) fn exp(x: f32) -> f32 {
    if x < LEAST { 0.0 } else { exp_bounded(x) }
}

/// [`exp`], but with the value at [`LEAST`] for all below.
///
/// Without branches and calls, so that a loop over it becomes vector code; built only of operations
/// that IEEE 754 rounds in one way, so that it has the same bits everywhere.
#[inline(always)]
pub(crate) fn exp_bounded(x: f32) -> f32 {
    // Adding 1.5 x 2^23 leaves the nearest whole number in the low bits.
    const ROUND: f32 = 12_582_912.0;
    // ln 2 in two parts; the first has so few digits that its product with n is exact.
    const LN2_HIGH: f32 = 0.693_359_4;
    const LN2_LOW: f32 = -2.121_944_4e-4;

    // x = n ln 2 + r with |r| <= ln 2 / 2; e^x = 2^n e^r.
    // Not `max`, which costs more since it must look out for NaN.
    let clamped = if x > LEAST { x } else { LEAST };
    let shifted = clamped * std::f32::consts::LOG2_E + ROUND;
    let n = shifted - ROUND;
    let r = (clamped - n * LN2_HIGH) - n * LN2_LOW;
    // The Taylor series: its next term is below half a unit in the last place.
    let mut sum = 1.0 / 5040.0;
    for coefficient in [1.0 / 720.0, 1.0 / 120.0, 1.0 / 24.0, 1.0 / 6.0, 0.5, 1.0, 1.0] {
        sum = sum * r + coefficient;
    }
    let exponent = shifted.to_bits().wrapping_sub(ROUND.to_bits()).wrapping_add(127);
    sum * f32::from_bits(exponent << 23)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exp_is_near_the_exact_value() {
        for step in 0..800_000 {
            let x = -step as f32 / 10_000.0;
            let exact = libm::exp(f64::from(x));
            let error = (f64::from(exp(x)) - exact).abs() / exact;
            assert!(error < 2e-7, "exp({x}) is off by {error:e}");
        }
    }

    #[test]
    fn exp_has_exact_ends() {
        assert_eq!(exp(0.0), 1.0);
        assert_eq!(exp(-0.0), 1.0);
        assert_eq!(exp(f32::NEG_INFINITY), 0.0);
        assert_eq!(exp(-1e30), 0.0);
    }
}
