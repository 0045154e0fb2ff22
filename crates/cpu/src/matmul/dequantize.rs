//! The numbers that stored weights stand for.

use graph::DType;
use half::{bf16, f16};

use super::block32::{BLOCK, Block, Iq4Nl, Q4_0, Q4_1, Q5_0, Q5_1, Q8_0};
use super::super_block::{Iq4Xs, Q2K, Q3K, Q4K, Q5K, Q6K, SUB, SUPER, SuperBlock};

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
        DType::Q5_0 => blocks::<Q5_0, 22>(data, out),
        DType::Q5_1 => blocks::<Q5_1, 24>(data, out),
        DType::Q8_0 => blocks::<Q8_0, 34>(data, out),
        DType::Q2_K => super_blocks::<Q2K, 84>(data, out),
        DType::Q3_K => super_blocks::<Q3K, 110>(data, out),
        DType::Q4_K => super_blocks::<Q4K, 144>(data, out),
        DType::Q5_K => super_blocks::<Q5K, 176>(data, out),
        DType::Q6_K => super_blocks::<Q6K, 210>(data, out),
        DType::IQ4_NL => blocks::<Iq4Nl, 18>(data, out),
        DType::IQ4_XS => super_blocks::<Iq4Xs, 136>(data, out),
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
