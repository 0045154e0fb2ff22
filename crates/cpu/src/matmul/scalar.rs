//! The specification of every matrix product: each element in plain code, in the written order.

use std::ops::Range;

use graph::DType;
use half::{bf16, f16};

use super::block32::{BLOCK, Block, Iq4Nl, Q4_0, Q4_1, Q5_0, Q5_1, Q8_0};
use super::fma::fma;
use super::super_block::{Iq4Xs, Q2K, Q3K, Q4K, Q5K, Q6K, SUB, SUPER, SuperBlock};
use super::{Activations, Output, Weights, activation_dtype};
use crate::quantize::A32Offsets;

/// # Safety
/// As [`super::matmul`], whose checks of sizes were made.
pub(super) unsafe fn matmul(w: &Weights, rows: Range<usize>, x: &Activations, y: &Output) {
    let dot: fn(&[u8], &[u8], usize) -> f32 = match w.dtype {
        DType::F32 => |w, x, cols| dot_float(w, x, cols, f32::from_le_bytes),
        DType::F16 => |w, x, cols| dot_float(w, x, cols, |b| f16::from_le_bytes(b).to_f32()),
        DType::BF16 => |w, x, cols| dot_float(w, x, cols, |b| bf16::from_le_bytes(b).to_f32()),
        DType::Q4_0 => dot_blocks::<Q4_0, 18>,
        DType::Q4_1 => dot_blocks::<Q4_1, 20>,
        DType::Q5_0 => dot_blocks::<Q5_0, 22>,
        DType::Q5_1 => dot_blocks::<Q5_1, 24>,
        DType::Q8_0 => dot_blocks::<Q8_0, 34>,
        DType::Q2_K => dot_super_blocks::<Q2K, 84>,
        DType::Q3_K => dot_super_blocks::<Q3K, 110>,
        DType::Q4_K => dot_super_blocks::<Q4K, 144>,
        DType::Q5_K => dot_super_blocks::<Q5K, 176>,
        DType::Q6_K => dot_super_blocks::<Q6K, 210>,
        DType::IQ4_NL => dot_blocks::<Iq4Nl, 18>,
        DType::IQ4_XS => dot_super_blocks::<Iq4Xs, 136>,
        DType::I32 | DType::A32 => panic!("{} is no type of weights", w.dtype),
    };
    let w_bytes = w.dtype.row_bytes(w.cols);
    let x_bytes = activation_dtype(w.dtype).row_bytes(w.cols);
    for row in rows.clone() {
        let w_row = &w.data[row * w_bytes..][..w_bytes];
        for token in 0..x.tokens {
            let x_row = &x.data[token * x.stride..][..x_bytes];
            let product = dot(w_row, x_row, w.cols);
            // SAFETY: the caller grants an element for each token and row.
            unsafe { y.ptr.add(token * y.stride + row - rows.start).write(product) };
        }
    }
}

/// Blocks of 32: one chain for the products, one for the minima, block after block.
fn dot_blocks<T: Block<BYTES>, const BYTES: usize>(w: &[u8], x: &[u8], cols: usize) -> f32 {
    let at = A32Offsets::of(cols);
    let (mut acc, mut min) = (0.0, 0.0);
    for (block, bytes) in w.as_chunks().0.iter().enumerate() {
        let weights = T::unpack(bytes);
        let q = &x[block * BLOCK..][..BLOCK];
        let product = |(w, x): (&i8, &u8)| i32::from(*w) * i32::from(*x as i8);
        let integer: i32 = weights.q.iter().zip(q).map(product).sum();
        acc = fma(integer as f32, weights.scale * f32_at(x, at.d, block), acc);
        if T::MINIMA {
            min = fma(weights.min, f32_at(x, at.s, block), min);
        }
    }
    if T::MINIMA { acc + min } else { acc }
}

/// Blocks of 256: inside one a chain for the products and one for the minima, over its blocks of 32;
/// then a step of the chains over super-blocks.
fn dot_super_blocks<T: SuperBlock<BYTES>, const BYTES: usize>(w: &[u8], x: &[u8], cols: usize) -> f32 {
    let at = A32Offsets::of(cols);
    let (mut acc, mut min) = (0.0, 0.0);
    for (index, bytes) in w.as_chunks().0.iter().enumerate() {
        let weights = T::unpack(bytes);
        let q = &x[index * SUPER..][..SUPER];
        let (mut t, mut u) = (0.0, 0.0);
        for block in 0..SUPER / BLOCK {
            let x_block = index * (SUPER / BLOCK) + block;
            let product = |k: usize| {
                let (w, x) = (i32::from(weights.q[k]), i32::from(q[k] as i8));
                i32::from(weights.scale[k / SUB]) * w * x
            };
            let integer: i32 = (block * BLOCK..(block + 1) * BLOCK).map(product).sum();
            let dx = f32_at(x, at.d, x_block);
            t = fma(integer as f32, dx, t);
            let sub = 2 * block;
            match T::MINIMA {
                0 => {}
                1 => u = fma(f32::from(weights.min[sub]), f32_at(x, at.s, x_block), u),
                _ => {
                    for half in 0..2 {
                        let sum = i16::from_le_bytes(x[at.sum + 2 * (2 * x_block + half)..].as_chunks().0[0]);
                        u = fma(f32::from(weights.min[sub + half]), dx * f32::from(sum), u);
                    }
                }
            }
        }
        acc = fma(t, weights.d, acc);
        if T::MINIMA > 0 {
            min = fma(u, weights.dmin, min);
        }
    }
    if T::MINIMA > 0 { acc - min } else { acc }
}

/// Partial sums in a dot product of floats.
const PARTS: usize = 16;

/// Floats: element `k` goes to partial sum `k % 16`, then the tree.
fn dot_float<const BYTES: usize>(w: &[u8], x: &[u8], cols: usize, value: impl Fn([u8; BYTES]) -> f32) -> f32 {
    let mut parts = [0.0; PARTS];
    for k in 0..cols {
        let weight = value(w.as_chunks().0[k]);
        parts[k % PARTS] = fma(weight, f32_at(x, 0, k), parts[k % PARTS]);
    }
    tree(parts)
}

/// Adds what lies 8 apart, then 4, 2, 1.
fn tree(mut parts: [f32; PARTS]) -> f32 {
    for apart in [8, 4, 2, 1] {
        for i in 0..apart {
            parts[i] += parts[i + apart];
        }
    }
    parts[0]
}

/// Element `index` of an array of floats that starts at byte `from`.
fn f32_at(bytes: &[u8], from: usize, index: usize) -> f32 {
    f32::from_le_bytes(bytes[from + 4 * index..].as_chunks().0[0])
}
