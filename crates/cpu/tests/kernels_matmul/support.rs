//! Random operands and a call of the kernel on plain vectors.

use std::ops::Range;

use cpu::isa::Isa;
use cpu::matmul::{Activations, Output, Weights, activation_dtype, matmul, scratch_bytes};
use cpu::quantize::quantize_row;
use graph::DType;

/// Every type of weights.
pub const TYPES: [DType; 15] = [
    DType::F32,
    DType::F16,
    DType::BF16,
    DType::Q4_0,
    DType::Q4_1,
    DType::Q5_0,
    DType::Q5_1,
    DType::Q8_0,
    DType::Q2_K,
    DType::Q3_K,
    DType::Q4_K,
    DType::Q5_K,
    DType::Q6_K,
    DType::IQ4_NL,
    DType::IQ4_XS,
];

/// Those whose activations are quantized too.
pub fn quantized() -> impl Iterator<Item = DType> {
    TYPES.into_iter().filter(|t| t.is_quantized())
}

/// Byte offsets of the half-precision scales in a block of a quantized type, and the size of each:
/// all but them is integers.
pub fn scales(dtype: DType) -> &'static [(usize, f32)] {
    match dtype {
        DType::Q4_0 | DType::Q5_0 | DType::Q8_0 => &[(0, 0.1)],
        DType::Q4_1 | DType::Q5_1 => &[(0, 0.1), (2, 1.0)],
        DType::Q2_K => &[(80, 0.02), (82, 0.04)],
        DType::Q3_K => &[(108, 0.01)],
        DType::Q4_K | DType::Q5_K => &[(0, 0.002), (2, 0.02)],
        DType::Q6_K => &[(208, 0.002)],
        DType::IQ4_NL => &[(0, 0.01)],
        DType::IQ4_XS => &[(0, 0.001)],
        DType::F32 | DType::F16 | DType::BF16 | DType::I32 | DType::A32 => &[],
    }
}

/// The tiers that this machine has, besides the scalar one.
pub fn tiers() -> impl Iterator<Item = Isa> {
    Isa::ALL.into_iter().filter(|isa| *isa != Isa::Scalar).filter(|isa| match isa.is_available() {
        Ok(()) => true,
        Err(reason) => {
            eprintln!("skipped {isa}: {reason}");
            false
        }
    })
}

/// xorshift: the same numbers each time.
pub struct Random(pub u64);

impl Random {
    pub fn bits(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    pub fn below(&mut self, end: usize) -> usize {
        (self.bits() >> 33) as usize % end
    }

    /// Between -1 and 1.
    pub fn unit(&mut self) -> f32 {
        (self.bits() >> 40) as f32 / (1 << 23) as f32 - 1.0
    }

    /// Activations of mixed sizes.
    pub fn activations(&mut self, count: usize) -> Vec<f32> {
        (0..count).map(|_| self.unit() * [0.01, 1.0, 1.0, 30.0][self.below(4)]).collect()
    }

    /// Stored weights: any bits where they are numbers, scales of a sensible size.
    pub fn weights(&mut self, dtype: DType, count: usize) -> Vec<u8> {
        let mut data = vec![0; dtype.row_bytes(count)];
        for block in data.chunks_exact_mut(dtype.block_bytes()) {
            let value = self.unit() * 0.1;
            let half = half::f16::from_f32(value).to_le_bytes();
            match dtype {
                DType::F32 => block.copy_from_slice(&value.to_le_bytes()),
                DType::F16 => block.copy_from_slice(&half),
                DType::BF16 => block.copy_from_slice(&half::bf16::from_f32(value).to_le_bytes()),
                _ => {
                    block.fill_with(|| self.bits() as u8);
                    for (at, size) in scales(dtype) {
                        let scale = half::f16::from_f32(self.unit() * size);
                        block[*at..][..2].copy_from_slice(&scale.to_le_bytes());
                    }
                }
            }
        }
        data
    }
}

/// Activation rows as the weights' type wants them, by the scalar quantizer. Returns the stride too.
pub fn pack(dtype: DType, x: &[f32], cols: usize) -> (Vec<u8>, usize) {
    if activation_dtype(dtype) == DType::F32 {
        return (x.iter().flat_map(|x| x.to_le_bytes()).collect(), 4 * cols);
    }
    let stride = DType::A32.row_bytes(cols);
    let mut rows = vec![0; x.len() / cols * stride];
    for (x, row) in x.chunks_exact(cols).zip(rows.chunks_exact_mut(stride)) {
        quantize_row(Isa::Scalar, x, row);
    }
    (rows, stride)
}

/// The products of a range of rows, token after token. Elements around the output and bytes behind
/// the scratch are checked to stay as they were.
pub fn products(isa: Isa, w: &Weights, rows: Range<usize>, x: &(Vec<u8>, usize), tokens: usize) -> Vec<f32> {
    const GAP: usize = 3;
    let stride = rows.len() + GAP;
    let poison = f32::from_bits(0x7fc0_dead);
    let mut out = vec![poison; tokens * stride];
    let bytes = scratch_bytes(isa, w.dtype, w.cols, tokens);
    let mut scratch = vec![0xa5; bytes + 64];
    let x = Activations { data: &x.0, stride: x.1, tokens };
    let y = Output { ptr: out.as_mut_ptr(), stride };
    // SAFETY: the vector holds a row of `stride` elements for each token.
    unsafe { matmul(isa, w, rows.clone(), &x, &y, &mut scratch[..bytes]) };
    assert!(scratch[bytes..].iter().all(|b| *b == 0xa5));
    let mut products = Vec::new();
    for row in out.chunks_exact(stride) {
        let (row, gap) = row.split_at(rows.len());
        products.extend_from_slice(row);
        assert!(gap.iter().all(|x| x.to_bits() == poison.to_bits()), "written behind the range");
    }
    products
}
