//! Matrix products in double precision, and the values of stored weights, by the book.

use graph::DType;

mod super_blocks;

/// Multiplies each row of `weights` (rows of `cols` values, one after the other) with each of the
/// `tokens` rows of `x`. The result has a row a token, an element a row of `weights`. Sums are
/// taken in `f64` and rounded at the end.
pub fn matmul(weights: &[f32], cols: usize, x: &[f32], tokens: usize) -> Vec<f32> {
    assert_eq!(x.len(), tokens * cols);
    assert!(weights.len().is_multiple_of(cols));
    let mut products = Vec::with_capacity(tokens * (weights.len() / cols));
    for token in x.chunks_exact(cols) {
        for row in weights.chunks_exact(cols) {
            let sum: f64 = row.iter().zip(token).map(|(w, x)| f64::from(*w) * f64::from(*x)).sum();
            products.push(sum as f32);
        }
    }
    products
}

/// Appends the values of a block.
type Values = fn(&[u8], &mut Vec<f32>);

/// The values of stored weights, a whole number of blocks.
///
/// # Panics
/// If `dtype` is no type of weights or `data` does not end with a block.
pub fn dequantize(dtype: DType, data: &[u8]) -> Vec<f32> {
    let (bytes, of_block): (usize, Values) = match dtype {
        DType::F32 => (4, |b, out| out.push(f32::from_bits(word(b, 4)))),
        DType::F16 => (2, |b, out| out.push(half(b))),
        DType::BF16 => (2, |b, out| out.push(f32::from_bits(word(b, 2) << 16))),
        DType::Q4_0 => (18, |b, out| {
            let d = half(b);
            out.extend(nibbles(&b[2..18]).map(|q| (f32::from(q) - 8.0) * d));
        }),
        DType::Q4_1 => (20, |b, out| {
            let (d, m) = (half(b), half(&b[2..]));
            out.extend(nibbles(&b[4..20]).map(|q| f32::from(q) * d + m));
        }),
        DType::Q8_0 => (34, |b, out| {
            let d = half(b);
            out.extend(b[2..34].iter().map(|q| f32::from(q.cast_signed()) * d));
        }),
        DType::Q5_0 => (22, |b, out| {
            let d = half(b);
            out.extend(
                nibbles(&b[6..]).zip(bits(&b[2..6])).map(|(q, bit)| (f32::from(q + 16 * bit) - 16.0) * d),
            );
        }),
        DType::Q5_1 => (24, |b, out| {
            let (d, m) = (half(b), half(&b[2..]));
            out.extend(nibbles(&b[8..]).zip(bits(&b[4..8])).map(|(q, bit)| f32::from(q + 16 * bit) * d + m));
        }),
        DType::Q2_K => (84, super_blocks::q2_k),
        DType::Q3_K => (110, super_blocks::q3_k),
        DType::Q4_K => (144, super_blocks::q4_k),
        DType::Q5_K => (176, super_blocks::q5_k),
        DType::Q6_K => (210, super_blocks::q6_k),
        DType::IQ4_NL => (18, |b, out| {
            let d = half(b);
            out.extend(nibbles(&b[2..]).map(|index| d * f32::from(IQ4[usize::from(index)])));
        }),
        DType::IQ4_XS => (136, super_blocks::iq4_xs),
        DType::I32 | DType::A32 => panic!("{dtype} is no type of weights"),
    };
    assert!(data.len().is_multiple_of(bytes));
    let mut values = Vec::new();
    for block in data.chunks_exact(bytes) {
        of_block(block, &mut values);
    }
    values
}

/// What indices in the IQ4 types stand for.
const IQ4: [i8; 16] = [-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113];

/// All bits, those of the first byte first, its lowest at the start.
fn bits(bytes: &[u8]) -> impl Iterator<Item = u8> {
    bytes.iter().flat_map(|byte| (0..8).map(move |bit| byte >> bit & 1))
}

/// The low nibbles of all bytes, then the high ones.
fn nibbles(bytes: &[u8]) -> impl Iterator<Item = u8> {
    let low = bytes.iter().map(|b| b % 16);
    low.chain(bytes.iter().map(|b| b / 16))
}

/// A little-endian number of so many bytes.
fn word(bytes: &[u8], count: usize) -> u32 {
    bytes[..count].iter().rev().fold(0, |word, byte| word << 8 | u32::from(*byte))
}

/// The half-precision number at the start, from its definition.
fn half(bytes: &[u8]) -> f32 {
    let bits = word(bytes, 2);
    let sign = if bits >> 15 == 1 { -1.0 } else { 1.0 };
    let exponent = (bits >> 10 & 31) as i32;
    let fraction = (bits & 1023) as f32;
    sign * match exponent {
        0 => fraction * 2f32.powi(-24),
        31 if fraction == 0.0 => f32::INFINITY,
        31 => f32::NAN,
        _ => (1024.0 + fraction) * 2f32.powi(exponent - 25),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_precision_is_read_as_written() {
        for (bits, value) in [
            (0x3c00u16, 1.0f32),
            (0xc000, -2.0),
            (0x7bff, 65504.0),
            (1, 5.960_464_5e-8),
            (0x7c00, f32::INFINITY),
        ] {
            assert_eq!(half(&bits.to_le_bytes()), value);
        }
        assert_eq!(half(&0x8000u16.to_le_bytes()).to_bits(), (-0.0f32).to_bits());
        assert!(half(&0x7e00u16.to_le_bytes()).is_nan());
    }

    #[test]
    fn products_have_a_row_a_token() {
        let weights = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
        assert_eq!(matmul(&weights, 2, &[1.0, 10.0, -1.0, 0.5], 2), [21.0, 43.0, 65.0, 0.0, -1.0, -2.0]);
    }
}
