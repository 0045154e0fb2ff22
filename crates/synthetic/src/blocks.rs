//! Random blocks of each element type.

use gguf::ElementType;
use half::f16;

use crate::rand::Rand;

/// Appends `n` blocks whose elements have mean 0 and about the standard deviation `std`.
pub type Blocks = fn(&mut Rand, n: usize, std: f64, out: &mut Vec<u8>);

/// The block function of an element type; `None` for those that cannot be made.
pub fn blocks(ty: ElementType) -> Option<Blocks> {
    Some(match ty {
        ElementType::F32 => f32_elements,
        ElementType::F16 => f16_elements,
        ElementType::BF16 => bf16_elements,
        ElementType::Q4_0 => q4_0,
        ElementType::Q4_1 => q4_1,
        ElementType::Q8_0 => q8_0,
        ElementType::Q6_K => q6_k,
        _ => return None,
    })
}

/// `n` numbers, uniform around 0, with the standard deviation `std`. Middles of 65536 equal steps.
pub fn flat(r: &mut Rand, n: usize, std: f64) -> impl Iterator<Item = f32> {
    let width = (std * 3f64.sqrt()) as f32;
    r.units(n).into_iter().map(move |u| (u * 2.0 - 1.0 + 1.0 / 65536.0) * width)
}

fn f32_elements(r: &mut Rand, n: usize, std: f64, out: &mut Vec<u8>) {
    out.extend(flat(r, n, std).flat_map(f32::to_le_bytes));
}

fn f16_elements(r: &mut Rand, n: usize, std: f64, out: &mut Vec<u8>) {
    out.extend(flat(r, n, std).flat_map(|x| f16::from_f32(x).to_le_bytes()));
}

/// Cut off and not rounded, as the yardstick script does it.
fn bf16_elements(r: &mut Rand, n: usize, std: f64, out: &mut Vec<u8>) {
    out.extend(flat(r, n, std).flat_map(|x| ((x.to_bits() >> 16) as u16).to_le_bytes()));
}

fn q4_0(r: &mut Rand, n: usize, std: f64, out: &mut Vec<u8>) {
    let d = scales(r, n, true, single(std / spread() / code_std(4)));
    let codes = r.bytes(16 * n);
    rows(out, n, |i, out| {
        out.extend(d[i].to_le_bytes());
        out.extend(&codes[16 * i..][..16]);
    });
}

fn q4_1(r: &mut Rand, n: usize, std: f64, out: &mut Vec<u8>) {
    let d = scales(r, n, false, single(std / spread() / code_std(4)));
    let codes = r.bytes(16 * n);
    rows(out, n, |i, out| {
        out.extend(d[i].to_le_bytes());
        // The minimum that puts the mean of the codes at 0.
        out.extend(f16::from_f32(-7.5 * d[i].to_f32()).to_le_bytes());
        out.extend(&codes[16 * i..][..16]);
    });
}

fn q8_0(r: &mut Rand, n: usize, std: f64, out: &mut Vec<u8>) {
    let codes = r.bytes(32 * n);
    let d = scales(r, n, false, single(std / spread() / code_std(8)));
    rows(out, n, |i, out| {
        out.extend(d[i].to_le_bytes());
        // -128 is a code that no quantizer writes.
        out.extend(codes[32 * i..][..32].iter().map(|&q| if q == 0x80 { 127 } else { q }));
    });
}

fn q6_k(r: &mut Rand, n: usize, std: f64, out: &mut Vec<u8>) {
    let size = r.bytes(16 * n);
    let sign = r.bytes(16 * n);
    let d = scales(r, n, false, double(std / spread() / sub_scale_rms() / code_std(6)));
    let codes = r.bytes(192 * n);
    rows(out, n, |i, out| {
        out.extend(&codes[192 * i..][..192]);
        out.extend((16 * i..16 * (i + 1)).map(|j| {
            let scale = 16 + (size[j] & 31);
            if sign[j] & 1 == 1 { scale.wrapping_neg() } else { scale }
        }));
        out.extend(d[i].to_le_bytes());
    });
}

fn rows(out: &mut Vec<u8>, n: usize, mut row: impl FnMut(usize, &mut Vec<u8>)) {
    (0..n).for_each(|i| row(i, out));
}

/// `n` block scales: `round` of numbers in [0.5, 1.5), half of them negative if `signed`.
fn scales(r: &mut Rand, n: usize, signed: bool, round: impl Fn(f32) -> f16) -> Vec<f16> {
    let mut d: Vec<f16> = r.units(n).into_iter().map(|u| round(u + 0.5)).collect();
    if signed {
        for (d, sign) in d.iter_mut().zip(r.bytes(n)) {
            *d = if sign & 1 == 1 { -*d } else { *d };
        }
    }
    d
}

/// Scales around `base`, multiplied in single precision.
fn single(base: f64) -> impl Fn(f32) -> f16 {
    let base = base as f32;
    move |u| f16::from_f32(base * u)
}

/// Scales around `base`, multiplied in double precision and rounded once.
fn double(base: f64) -> impl Fn(f32) -> f16 {
    move |u| {
        let x = base * f64::from(u);
        // `f16::from_f64` rounds twice on some machines. Here the last place of the result becomes
        // the unit, so that rounding to an integer is the only rounding: what follows is exact.
        let exponent = (((x.to_bits() >> 52) & 0x7ff) as i32 - 1023).max(-14);
        let places = libm::ldexp(x, 10 - exponent).round_ties_even();
        f16::from_f32(libm::ldexp(places, exponent - 10) as f32)
    }
}

/// The root mean square of a factor uniform in [0.5, 1.5).
fn spread() -> f64 {
    (1.0 + 1.0 / 12.0f64).sqrt()
}

/// The standard deviation of codes of this many bits.
fn code_std(bits: i32) -> f64 {
    ((4f64.powi(bits) - 1.0) / 12.0).sqrt()
}

/// The root mean square of six-bit scales drawn from 16 to 47.
fn sub_scale_rms() -> f64 {
    ((16..48).map(|s| f64::from(s * s)).sum::<f64>() / 32.0).sqrt()
}
