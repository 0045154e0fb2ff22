use cpu::elementwise::swiglu;
use cpu::isa::Isa;
use cpu::math::{exp, silu};

use crate::support::{Random, assert_near, assert_same, special_floats, vector_tiers};

#[test]
fn exp_is_within_two_units_in_the_last_place() {
    let mut worst = 0.0f64;
    let mut x = -87.3f32;
    while x < 88.7 {
        let exact = libm::exp(f64::from(x));
        let unit = f64::from(f32::from_bits((exact as f32).to_bits() + 1)) - f64::from(exact as f32);
        worst = worst.max((f64::from(exp(x)) - exact).abs() / unit);
        x += 0.000_731;
    }
    assert!(worst < 2.0, "{worst} units");
}

#[test]
fn exp_has_the_right_limits() {
    assert_eq!(exp(f32::NEG_INFINITY), 0.0);
    assert_eq!(exp(-200.0), 0.0);
    assert_eq!(exp(f32::INFINITY), f32::INFINITY);
    assert_eq!(exp(88.8), f32::INFINITY);
    assert_eq!(exp(0.0), 1.0);
    assert_eq!(exp(-0.0), 1.0);
    assert!(exp(f32::NAN).is_nan());
    assert_eq!(exp(-103.0), libm::exp(-103.0) as f32);
    assert!(exp(-100.0) > 0.0);
}

#[test]
fn silu_is_near_the_reference() {
    let mut random = Random::new(1);
    let x = random.floats(10_000, 30.0);
    let ours: Vec<f32> = x.iter().map(|x| silu(*x)).collect();
    let theirs: Vec<f32> = x.iter().map(|x| reference::elementwise::silu(*x)).collect();
    assert_near(&ours, &theirs, 1e-6, "silu");
}

/// SwiGLU with ones is silu, and silu shows every bit of exp.
#[test]
fn functions_have_the_same_bits_in_every_tier() {
    let mut random = Random::new(2);
    let mut x = special_floats();
    x.extend((0..1 << 21).map(|_| f32::from_bits(random.bits())));
    x.extend(random.floats(1 << 20, 110.0));
    x.push(1.0);
    let ones = vec![1.0f32; x.len()];
    let run = |isa: Isa| {
        let mut out = vec![0.0f32; x.len()];
        // SAFETY: the three have one length.
        unsafe { swiglu(isa, x.as_ptr(), ones.as_ptr(), out.as_mut_ptr(), x.len()) };
        out
    };
    let scalar = run(Isa::Scalar);
    for isa in vector_tiers() {
        assert_same(&scalar, &run(isa), "silu");
    }
}
