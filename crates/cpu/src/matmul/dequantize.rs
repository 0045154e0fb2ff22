//! The numbers that stored weights stand for.

use graph::DType;
use half::{bf16, f16};

use super::super_block::{Q6K, SUB, SUPER, SuperBlock};

/// Elements in a block of the 32-element types.
pub(super) const BLOCK: usize = 32;

/// Writes the value of each of a row's weights: exact, except that types with minima round the sum
/// of product and minimum once, as no `f32` may hold it.
///
/// # Panics
/// On types that are no weights (I32, A32), and if `data` is not the `dtype.row_bytes(out.len())`
/// bytes of the row.
pub fn dequantize_row(dtype: DType, data: &[u8], out: &mut [f32]) {
    assert_eq!(data.len(), dtype.row_bytes(out.len()));
    match dtype {
        DType::F32 => each(data, out, f32::from_le_bytes),
        DType::F16 => each(data, out, |b| f16::from_le_bytes(b).to_f32()),
        DType::BF16 => each(data, out, |b| bf16::from_le_bytes(b).to_f32()),
        DType::Q4_0 => blocks::<Q4_0, 18>(data, out),
        DType::Q4_1 => blocks::<Q4_1, 20>(data, out),
        DType::Q8_0 => blocks::<Q8_0, 34>(data, out),
        DType::Q6_K => super_blocks::<Q6K, 210>(data, out),
        DType::I32 | DType::A32 => panic!("{dtype} is no type of weights"),
    }
}

fn each<const BYTES: usize>(data: &[u8], out: &mut [f32], value: impl Fn([u8; BYTES]) -> f32) {
    for (out, bytes) in out.iter_mut().zip(data.as_chunks().0) {
        *out = value(*bytes);
    }
}

fn blocks<T: Block<BYTES>, const BYTES: usize>(data: &[u8], out: &mut [f32]) {
    for (out, bytes) in out.chunks_exact_mut(BLOCK).zip(data.as_chunks().0) {
        let block = T::unpack(bytes);
        for (out, q) in out.iter_mut().zip(block.q) {
            *out = f32::from(q) * block.scale + block.min;
        }
    }
}

fn super_blocks<T: SuperBlock<BYTES>, const BYTES: usize>(data: &[u8], out: &mut [f32]) {
    for (out, bytes) in out.chunks_exact_mut(SUPER).zip(data.as_chunks().0) {
        let block = T::unpack(bytes);
        for (k, out) in out.iter_mut().enumerate() {
            let scale = f32::from(block.scale[k / SUB]) * block.d;
            *out = f32::from(block.q[k]) * scale - f32::from(block.min[k / SUB]) * block.dmin;
        }
    }
}

/// A block of 32 weights with the value `q * scale + min`.
pub(super) struct Unpacked {
    pub q: [i8; BLOCK],
    pub scale: f32,
    /// 0 in types without minima.
    pub min: f32,
}

/// A type of weights in blocks of 32 of `BYTES` bytes.
pub(super) trait Block<const BYTES: usize> {
    /// Whether blocks have minima.
    const MINIMA: bool;

    fn unpack(bytes: &[u8; BYTES]) -> Unpacked;
}

pub(super) struct Q4_0;
pub(super) struct Q4_1;
pub(super) struct Q8_0;

impl Block<18> for Q4_0 {
    const MINIMA: bool = false;

    fn unpack(bytes: &[u8; 18]) -> Unpacked {
        Unpacked { q: nibbles(&bytes[2..]).map(|q| q - 8), scale: half_at(bytes, 0), min: 0.0 }
    }
}

impl Block<20> for Q4_1 {
    const MINIMA: bool = true;

    fn unpack(bytes: &[u8; 20]) -> Unpacked {
        Unpacked { q: nibbles(&bytes[4..]), scale: half_at(bytes, 0), min: half_at(bytes, 2) }
    }
}

impl Block<34> for Q8_0 {
    const MINIMA: bool = false;

    fn unpack(bytes: &[u8; 34]) -> Unpacked {
        Unpacked { q: std::array::from_fn(|i| bytes[2 + i] as i8), scale: half_at(bytes, 0), min: 0.0 }
    }
}

/// Low nibbles are elements 0 to 15, high nibbles 16 to 31.
fn nibbles(bytes: &[u8]) -> [i8; BLOCK] {
    std::array::from_fn(|i| (bytes[i % 16] >> (i / 16 * 4) & 15) as i8)
}

pub(super) fn half_at(bytes: &[u8], at: usize) -> f32 {
    f16::from_le_bytes([bytes[at], bytes[at + 1]]).to_f32()
}
