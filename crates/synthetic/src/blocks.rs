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
        ElementType::Q5_0 => q5_0,
        ElementType::Q5_1 => q5_1,
        ElementType::Q8_0 => q8_0,
        ElementType::Q2_K => q2_k,
        ElementType::Q3_K => q3_k,
        ElementType::Q4_K => |r, n, std, out| q4_or_5_k(r, n, std, 4, out),
        ElementType::Q5_K => |r, n, std, out| q4_or_5_k(r, n, std, 5, out),
        ElementType::Q6_K => q6_k,
        ElementType::IQ4_NL => iq4_nl,
        ElementType::IQ4_XS => iq4_xs,
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

fn q5_0(r: &mut Rand, n: usize, std: f64, out: &mut Vec<u8>) {
    let d = scales(r, n, true, single(std / spread() / code_std(5)));
    let codes = r.bytes(20 * n);
    rows(out, n, |i, out| {
        out.extend(d[i].to_le_bytes());
        out.extend(&codes[20 * i..][..20]);
    });
}

fn q5_1(r: &mut Rand, n: usize, std: f64, out: &mut Vec<u8>) {
    let d = scales(r, n, false, single(std / spread() / code_std(5)));
    let codes = r.bytes(20 * n);
    rows(out, n, |i, out| {
        out.extend(d[i].to_le_bytes());
        out.extend(f16::from_f32(-15.5 * d[i].to_f32()).to_le_bytes());
        out.extend(&codes[20 * i..][..20]);
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

fn q2_k(r: &mut Rand, n: usize, std: f64, out: &mut Vec<u8>) {
    let size = r.bytes(16 * n);
    // 7.8 is about the root mean square of scales drawn from 4 to 11.
    let d = scales(r, n, false, single(std / spread() / 7.8 / code_std(2)));
    let codes = r.bytes(64 * n);
    rows(out, n, |i, out| {
        // The minimum is the scale: what is multiplied with it puts the mean of the codes at 0.
        out.extend(size[16 * i..][..16].iter().map(|s| 0x11 * (4 + (s & 7))));
        out.extend(&codes[64 * i..][..64]);
        out.extend(d[i].to_le_bytes());
        out.extend(f16::from_f32(1.5 * d[i].to_f32()).to_le_bytes());
    });
}

fn q3_k(r: &mut Rand, n: usize, std: f64, out: &mut Vec<u8>) {
    // Any bits are scales: 6 bits less 32.
    let d = scales(r, n, false, single(std / spread() / code_std(6) / code_std(3)));
    let (thirds, pairs, sub) = (r.bytes(32 * n), r.bytes(64 * n), r.bytes(12 * n));
    rows(out, n, |i, out| {
        out.extend(&thirds[32 * i..][..32]);
        out.extend(&pairs[64 * i..][..64]);
        out.extend(&sub[12 * i..][..12]);
        out.extend(d[i].to_le_bytes());
    });
}

fn q4_or_5_k(r: &mut Rand, n: usize, std: f64, bits: i32, out: &mut Vec<u8>) {
    let d = scales(r, n, false, double(std / spread() / sub_scale_rms() / code_std(bits)));
    let sub = scales_and_minima(r, n);
    let bytes = 32 * bits as usize;
    let codes = r.bytes(bytes * n);
    let middle = (2f32.powi(bits) - 1.0) / 2.0;
    rows(out, n, |i, out| {
        out.extend(d[i].to_le_bytes());
        out.extend(f16::from_f32(middle * d[i].to_f32()).to_le_bytes());
        out.extend(sub[i]);
        out.extend(&codes[bytes * i..][..bytes]);
    });
}

/// For each block the 12 bytes of eight scales and eight minima near them, of 6 bits each.
fn scales_and_minima(r: &mut Rand, n: usize) -> Vec<[u8; 12]> {
    let [size, near, one] = [(); 3].map(|()| r.bytes(8 * n));
    let pack = |block: usize| {
        let scale = |j: usize| 16 + (size[8 * block + j] & 31);
        let min = |j: usize| scale(j) + (near[8 * block + j] & 3) - 2 + (one[8 * block + j] & 1);
        std::array::from_fn(|byte| match byte {
            0..4 => scale(byte) | scale(byte + 4) >> 4 << 6,
            4..8 => min(byte - 4) | min(byte) >> 4 << 6,
            _ => scale(byte - 4) & 15 | (min(byte - 4) & 15) << 4,
        })
    };
    (0..n).map(pack).collect()
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

fn iq4_nl(r: &mut Rand, n: usize, std: f64, out: &mut Vec<u8>) {
    let d = scales(r, n, true, double(std / spread() / iq4_std()));
    let codes = r.bytes(16 * n);
    rows(out, n, |i, out| {
        out.extend(d[i].to_le_bytes());
        out.extend(&codes[16 * i..][..16]);
    });
}

fn iq4_xs(r: &mut Rand, n: usize, std: f64, out: &mut Vec<u8>) {
    let d = scales(r, n, false, double(std / spread() / code_std(6) / iq4_std()));
    let (high, low, codes) = (r.bytes(2 * n), r.bytes(4 * n), r.bytes(128 * n));
    rows(out, n, |i, out| {
        out.extend(d[i].to_le_bytes());
        out.extend(&high[2 * i..][..2]);
        out.extend(&low[4 * i..][..4]);
        out.extend(&codes[128 * i..][..128]);
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

/// The standard deviation of the 16 numbers that codes of the IQ4 types stand for.
fn iq4_std() -> f64 {
    let numbers = [-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113].map(f64::from);
    let mean = numbers.iter().sum::<f64>() / 16.0;
    (numbers.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / 16.0).sqrt()
}
