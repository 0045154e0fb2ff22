//! The scalar kernel against products in double precision.

use cpu::isa::Isa;
use cpu::matmul::{Weights, dequantize_row};
use graph::DType;

use crate::support::{Random, TYPES, pack, products, tiers};

/// What rounding may add: the sum of `|w x|` times this. A product of 700 terms is rounded about 50
/// times on its way (16 partial sums, or one rounding a block), each by at most 2^-24 of it.
const ROUNDING: f32 = 1e-5;

/// At least so many columns, in whole blocks.
fn columns(dtype: DType, least: usize) -> usize {
    least.next_multiple_of(dtype.block_elements())
}

/// The tolerance of each product: rounding, and for quantized activations half a step `d / 2` of
/// their block for every weight (with a little for the rounding of the step itself).
fn check(dtype: DType, cols: usize, data: &[u8], x: &[f32], tokens: usize) {
    let values = reference::matmul::dequantize(dtype, data);
    let rows = values.len() / cols;
    let expected = reference::matmul::matmul(&values, cols, x, tokens);
    let w = Weights { dtype, cols, rows, data };
    let packed = pack(dtype, x, cols);
    for isa in tiers().chain([Isa::Scalar]) {
        let found = products(isa, &w, 0..rows, &packed, tokens);
        for (i, (found, expected)) in found.iter().zip(&expected).enumerate() {
            let (token, row) = (i / rows, i % rows);
            let mut tolerance = f32::MIN_POSITIVE;
            let x = x[token * cols..][..cols].chunks(32);
            for (w, x) in values[row * cols..][..cols].chunks(32).zip(x) {
                tolerance += ROUNDING * w.iter().zip(x).map(|(w, x)| (w * x).abs()).sum::<f32>();
                if dtype.is_quantized() {
                    let step = x.iter().fold(0.0, |amax: f32, x| amax.max(x.abs())) / 127.0;
                    tolerance += 0.5001 * step * w.iter().map(|w| w.abs()).sum::<f32>();
                }
            }
            let difference = (found - expected).abs();
            assert!(
                difference <= tolerance,
                "{isa} {dtype}: {found}, expected {expected} within {tolerance}"
            );
        }
    }
}

#[test]
fn random_products_are_within_half_a_step_of_the_activations() {
    let mut random = Random(0x1357_9bdf_0246_8ace);
    for dtype in TYPES {
        for _ in 0..12 {
            let (cols, rows, tokens) =
                (columns(dtype, 32 * (1 + random.below(22))), 1 + random.below(20), 1 + random.below(10));
            let data = random.weights(dtype, rows * cols);
            let x = random.activations(tokens * cols);
            check(dtype, cols, &data, &x, tokens);
        }
    }
}

#[test]
fn stored_weights_have_the_reference_values_exactly() {
    let mut random = Random(0x1111_2222_3333_4444);
    for dtype in TYPES {
        let data = random.weights(dtype, 1280);
        let mut found = vec![0.0; 1280];
        dequantize_row(dtype, &data, &mut found);
        assert_eq!(found, reference::matmul::dequantize(dtype, &data), "{dtype}");
    }
}

/// A weight row whose every value is 8.
fn eights(dtype: DType, cols: usize) -> Vec<u8> {
    let half = |x: f32| half::f16::from_f32(x).to_le_bytes();
    // Eight scales of 32 and eight minima of 16, in 6 bits each.
    let sixes = [0xa0, 0xa0, 0xa0, 0xa0, 0x50, 0x50, 0x50, 0x50, 0, 0, 0, 0];
    let block: Vec<u8> = match dtype {
        DType::F32 => 8f32.to_le_bytes().to_vec(),
        DType::F16 => half(8.0).to_vec(),
        DType::BF16 => half::bf16::from_f32(8.0).to_le_bytes().to_vec(),
        // -1 times -8.
        DType::Q4_0 => [half(-1.0).to_vec(), vec![0x00; 16]].concat(),
        // 0.5 times 15, and 0.5.
        DType::Q4_1 => [half(0.5).to_vec(), half(0.5).to_vec(), vec![0xff; 16]].concat(),
        // -0.0625 times -128, the one value without a counterpart.
        DType::Q8_0 => [half(-0.0625).to_vec(), vec![0x80; 32]].concat(),
        // -0.5 times -16.
        DType::Q5_0 => [half(-0.5).to_vec(), vec![0x00; 20]].concat(),
        // 0.25 times 31, and 0.25.
        DType::Q5_1 => [half(0.25).to_vec(), half(0.25).to_vec(), vec![0xff; 20]].concat(),
        // 0.5 times 15 times 3, less 3.625 times 4.
        DType::Q2_K => [vec![0x4f; 16], vec![0xff; 64], half(0.5).to_vec(), half(3.625).to_vec()].concat(),
        // 0.0625 times -32 times -4.
        DType::Q3_K => [vec![0; 108], half(0.0625).to_vec()].concat(),
        // 0.25 times 32 times 15 or 31, less 7 or 15 times 16.
        DType::Q4_K => [&half(0.25)[..], &half(7.0), &sixes, &[0xff; 128]].concat(),
        DType::Q5_K => [&half(0.25)[..], &half(15.0), &sixes, &[0xff; 160]].concat(),
        // -0.0625 times 4 times -32.
        DType::Q6_K => [vec![0; 192], vec![4; 16], half(-0.0625).to_vec()].concat(),
        // 8 or -0.25 times -32, times the ninth number, which is 1.
        DType::IQ4_NL => [half(8.0).to_vec(), vec![0x88; 16]].concat(),
        DType::IQ4_XS => [half(-0.25).to_vec(), vec![0; 6], vec![0x88; 128]].concat(),
        DType::I32 | DType::A32 => unreachable!(),
    };
    block.repeat(cols / dtype.block_elements())
}

#[test]
fn long_rows_of_large_values_neither_overflow_nor_drift() {
    for dtype in TYPES {
        let cols = 4096;
        let data = eights(dtype, cols);
        assert_eq!(reference::matmul::dequantize(dtype, &data), vec![8.0; cols]);
        let packed = pack(dtype, &vec![12.0; cols], cols);
        let w = Weights { dtype, cols, rows: 1, data: &data };
        for isa in tiers().chain([Isa::Scalar]) {
            let sum = products(isa, &w, 0..1, &packed, 1)[0];
            assert!((sum - 393_216.0).abs() <= 393_216.0 * 1e-5, "{isa} {dtype}: {sum}");
        }
    }
}

#[test]
fn rows_with_one_element_of_any_size_keep_it() {
    let mut random = Random(0xabcd_1234_5678_0001);
    for dtype in TYPES {
        let cols = columns(dtype, 96);
        let data = random.weights(dtype, cols * 5);
        // Inside a super-block sums still lack its scale, so they overflow sooner.
        let huge = if dtype.block_elements() == 256 { 1e33 } else { 1e36 };
        for value in [1e5, -1e5, 6e4, 1e-8, -1e-8, 1e-30, huge] {
            for place in [0, 15, 16, 31, 32, 95] {
                let mut x = vec![0.0; cols];
                x[place] = value;
                check(dtype, cols, &data, &x, 1);
            }
        }
    }
}

#[test]
fn a_block_of_equal_large_values_is_summed_without_saturation() {
    let mut random = Random(0xabcd_1234_5678_0003);
    for dtype in TYPES {
        let cols = columns(dtype, 64);
        let data = random.weights(dtype, cols * 9);
        for value in [3000.0, -3000.0] {
            let mut x = vec![0.0; cols * 5];
            for token in x.chunks_exact_mut(cols) {
                token[32..64].fill(value);
            }
            check(dtype, cols, &data, &x, 5);
        }
    }
}

#[test]
fn activations_that_are_no_numbers_give_products_that_are_none() {
    let mut random = Random(0xabcd_1234_5678_0005);
    for dtype in TYPES {
        let cols = columns(dtype, 64);
        let data = random.weights(dtype, cols * 9);
        let w = Weights { dtype, cols, rows: 9, data: &data };
        for value in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
            for tokens in [1, 3, 9] {
                let mut x = random.activations(cols * tokens);
                x[7] = value;
                for isa in tiers().chain([Isa::Scalar]) {
                    let found = products(isa, &w, 0..9, &pack(dtype, &x, cols), tokens);
                    let (bad, good) = found.split_at(9);
                    assert!(bad.iter().all(|y| !y.is_finite()), "{isa} {dtype} {value}: {bad:?}");
                    assert!(good.iter().all(|y| y.is_finite()), "{isa} {dtype} {value}");
                }
            }
        }
    }
}
