//! The fused multiply-add of the scalar tier: `a * b + c` rounded once, on every machine.

/// `a * b + c`, rounded once.
///
/// Where the program is compiled for a CPU with the instruction, this is the instruction. Elsewhere
/// it is computed here, so that the bits do not hang on the C library.
#[inline]
pub fn fma(a: f32, b: f32, c: f32) -> f32 {
    if cfg!(any(target_feature = "fma", target_arch = "aarch64")) {
        a.mul_add(b, c)
    } else {
        fma_in_software(a, b, c)
    }
}

/// The product is exact in `f64` (24 + 24 of 53 bits, and no product of two `f32` leaves its range).
/// The sum is rounded to odd there; an odd last bit tells the conversion to `f32`, at least two bits
/// shorter, that the true sum lies beside and not on what it rounds. Rounding to nearest twice would be wrong.
#[inline]
fn fma_in_software(a: f32, b: f32, c: f32) -> f32 {
    let product = f64::from(a) * f64::from(b);
    let c = f64::from(c);
    let sum = product + c;
    if !sum.is_finite() {
        return sum as f32;
    }
    // What rounding took away from the sum, exact for any two finite summands.
    let c_part = sum - product;
    let product_part = sum - c_part;
    let lost = (product - product_part) + (c - c_part);
    let bits = sum.to_bits();
    if lost == 0.0 || bits & 1 == 1 {
        return sum as f32;
    }
    // The neighbour in the direction of what was lost is the odd one. Bits of floats are ordered by
    // magnitude, so away from zero is +1. The sum is not zero: a sum that rounds to zero is exact.
    let outwards = (lost > 0.0) == (sum > 0.0);
    let odd = if outwards { bits + 1 } else { bits - 1 };
    f64::from_bits(odd) as f32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(a: f32, b: f32, c: f32) {
        let expected = a.mul_add(b, c);
        for found in [fma(a, b, c), fma_in_software(a, b, c)] {
            let same = found.to_bits() == expected.to_bits() || (found.is_nan() && expected.is_nan());
            assert!(same, "{a:e} * {b:e} + {c:e}: {found:e}, expected {expected:e}");
        }
    }

    /// A small generator (xorshift), so that the cases are the same each time.
    fn bits(state: &mut u64) -> u32 {
        *state ^= *state << 13;
        *state ^= *state >> 7;
        *state ^= *state << 17;
        (*state >> 16) as u32
    }

    #[test]
    fn software_fma_equals_the_instruction_on_any_bits() {
        let mut state = 0x1234_5678_9abc_def1;
        for _ in 0..300_000 {
            let [a, b, c] = [(); 3].map(|()| f32::from_bits(bits(&mut state)));
            check(a, b, c);
        }
    }

    #[test]
    fn software_fma_equals_the_instruction_where_summands_nearly_cancel_or_tie() {
        let mut state = 0x9e37_79b9_7f4a_7c15;
        for _ in 0..300_000 {
            let a = f32::from_bits(bits(&mut state) & 0x83ff_ffff | 0x3c00_0000);
            let b = f32::from_bits(bits(&mut state) & 0x83ff_f000 | 0x3c00_0000);
            let near = -(a * b);
            let ulps = (bits(&mut state) % 5) as i32 - 2;
            check(a, b, f32::from_bits(near.to_bits().wrapping_add_signed(ulps)));
            // Far apart: the small summand decides ties only.
            check(a, b, near * f32::from_bits(0x4b00_0000 + ((bits(&mut state) % 8) << 23)));
        }
    }

    #[test]
    fn software_fma_rounds_into_subnormals_once() {
        let mut state = 0x0123_4567_89ab_cdef;
        for _ in 0..300_000 {
            let a = f32::from_bits(bits(&mut state) & 0x807f_ffff | 0x2000_0000);
            let b = f32::from_bits(
                bits(&mut state) & 0x807f_ffff | (0x1f00_0000 + (bits(&mut state) & 0x0380_0000)),
            );
            let c = f32::from_bits(bits(&mut state) & 0x80ff_ffff);
            check(a, b, c);
        }
    }

    #[test]
    fn software_fma_keeps_signs_of_zero_infinities_and_the_largest() {
        let values = [0.0, -0.0, 1.0, -1.0, f32::MIN_POSITIVE, f32::from_bits(1), f32::MAX, -f32::MAX];
        let special = [f32::INFINITY, f32::NEG_INFINITY, f32::NAN, 3.0];
        let all: Vec<f32> = values.into_iter().chain(special).collect();
        for &a in &all {
            for &b in &all {
                for &c in &all {
                    check(a, b, c);
                }
            }
        }
    }
}
