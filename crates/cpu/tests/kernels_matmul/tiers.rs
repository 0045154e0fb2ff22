//! Every tier gives the scalar kernel's bits, whatever the shape, the range and the number of tokens.

use std::ops::Range;

use cpu::isa::Isa;
use cpu::matmul::{Activations, Output, Weights, matmul, scratch_bytes};
use graph::DType;

use crate::support::{Random, TYPES, pack, products, quantized, scales, tiers};

fn columns(random: &mut Random, dtype: DType) -> usize {
    match dtype.block_elements() {
        1 => 1 + random.below(200),
        32 => 32 * (1 + random.below(9)),
        block => block * (1 + random.below(4)),
    }
}

fn check(random: &mut Random, dtype: DType, cols: usize, rows: usize, tokens: usize, range: Range<usize>) {
    let data = random.weights(dtype, cols * rows);
    let x = random.activations(cols * tokens);
    let x = pack(dtype, &x, cols);
    let w = Weights { dtype, cols, rows, data: &data };
    let expected = products(Isa::Scalar, &w, range.clone(), &x, tokens);
    for isa in tiers() {
        let found = products(isa, &w, range.clone(), &x, tokens);
        for (i, (found, expected)) in found.iter().zip(&expected).enumerate() {
            let (token, row) = (i / range.len(), range.start + i % range.len());
            let place = format!(
                "{isa} {dtype} {cols}x{rows}, range {range:?}, {tokens} tokens: token {token}, row {row}"
            );
            assert_eq!(found.to_bits(), expected.to_bits(), "{place}: {found}, expected {expected}");
        }
    }
}

#[test]
fn tiers_agree_on_random_shapes() {
    let mut random = Random(0x1234_5678_9abc_def1);
    for dtype in TYPES {
        for _ in 0..60 {
            let (cols, rows, tokens) =
                (columns(&mut random, dtype), 1 + random.below(70), 1 + random.below(70));
            check(&mut random, dtype, cols, rows, tokens, 0..rows);
        }
    }
}

#[test]
fn tiers_agree_on_any_range_of_rows() {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    for dtype in TYPES {
        for _ in 0..60 {
            let (cols, rows, tokens) =
                (columns(&mut random, dtype), 1 + random.below(70), 1 + random.below(12));
            let start = random.below(rows);
            let end = start + random.below(rows - start) + 1;
            check(&mut random, dtype, cols, rows, tokens, start..end);
        }
    }
}

#[test]
fn tiers_agree_for_every_small_number_of_tokens() {
    let mut random = Random(0x0123_4567_89ab_cdef);
    for dtype in TYPES {
        for tokens in 1..=20 {
            for rows in [1, 7, 8, 9, 16, 17, 33] {
                let cols = columns(&mut random, dtype);
                check(&mut random, dtype, cols, rows, tokens, 0..rows);
            }
        }
    }
}

/// Rows so wide that float weights and tokens are taken in several blocks.
#[test]
fn tiers_agree_on_float_rows_wider_than_a_block() {
    let mut random = Random(0x3333_1234_0000_0001);
    for dtype in [DType::F32, DType::F16, DType::BF16] {
        let cols = 12_000 / dtype.block_bytes() * 2 + 5;
        check(&mut random, dtype, cols, 45, 26, 1..45);
    }
}

/// So many bytes of activations that tokens are taken in several blocks.
#[test]
fn tiers_agree_on_more_tokens_than_a_block() {
    let mut random = Random(0x2222_1234_0000_0001);
    for dtype in quantized() {
        check(&mut random, dtype, 2048, 10, 131, 0..10);
    }
}

/// Weights lie in the file as they come, and a window of scratch may start anywhere.
#[test]
fn tiers_agree_on_operands_of_any_alignment() {
    let mut random = Random(0x4444_1234_0000_0001);
    for dtype in TYPES {
        for tokens in [1, 2, 5, 9] {
            let (cols, rows) = (128.max(dtype.block_elements()), 19);
            let mut data = random.weights(dtype, cols * rows);
            let (mut x, stride) = pack(dtype, &random.activations(cols * tokens), cols);
            let w = Weights { dtype, cols, rows, data: &data };
            let expected = products(Isa::Scalar, &w, 0..rows, &(x.clone(), stride), tokens);
            data.insert(0, 0);
            x.insert(0, 0);
            let w = Weights { dtype, cols, rows, data: &data[1..] };
            let x = Activations { data: &x[1..], stride, tokens };
            for isa in tiers() {
                let bytes = scratch_bytes(isa, dtype, cols, tokens);
                let mut scratch = vec![0; bytes + 7];
                let mut found = vec![0.0; rows * tokens];
                let y = Output { ptr: found.as_mut_ptr(), stride: rows };
                // SAFETY: the vector holds a row for each token.
                unsafe { matmul(isa, &w, 0..rows, &x, &y, &mut scratch[7..]) };
                assert_eq!(found, expected, "{isa} {dtype}, {tokens} tokens");
            }
        }
    }
}

/// Wide rows: sums of integers may not overflow, chains of blocks get long.
#[test]
fn tiers_agree_on_wide_rows_at_the_ends_of_the_integer_range() {
    let mut random = Random(0x5555_1234_0000_0001);
    for dtype in quantized() {
        for fill in [0x00, 0x7f, 0x80, 0xff] {
            let (cols, rows) = (2048, 11);
            let mut data = random.weights(dtype, cols * rows);
            for block in data.chunks_exact_mut(dtype.block_bytes()) {
                let before = block.to_vec();
                block.fill(fill);
                for (at, _) in scales(dtype) {
                    block[*at..][..2].copy_from_slice(&before[*at..][..2]);
                }
            }
            for tokens in [1, 2, 9] {
                for value in [1.0, -1.0] {
                    let x = pack(dtype, &vec![value; cols * tokens], cols);
                    let w = Weights { dtype, cols, rows, data: &data };
                    let expected = products(Isa::Scalar, &w, 0..rows, &x, tokens);
                    for isa in tiers() {
                        let found = products(isa, &w, 0..rows, &x, tokens);
                        assert_eq!(found, expected, "{isa} {dtype} filled with {fill:#x}, {tokens} tokens");
                    }
                }
            }
        }
    }
}

/// Zeros, subnormals, the largest, infinities and NaNs as scales give the same bits, or NaN everywhere.
#[test]
fn tiers_agree_on_scales_of_any_kind() {
    let mut random = Random(0x6666_1234_0000_0001);
    let halves: [u16; 9] = [0, 0x8000, 1, 0x83ff, 0x7bff, 0xfbff, 0x7c00, 0xfc00, 0x7e00];
    for dtype in quantized() {
        let (cols, rows, tokens) = (2 * dtype.block_elements(), 21, 6);
        for _ in 0..20 {
            let mut data = random.weights(dtype, cols * rows);
            for block in data.chunks_exact_mut(dtype.block_bytes()) {
                for (at, _) in scales(dtype) {
                    if random.below(3) == 0 {
                        let half = halves[random.below(halves.len())];
                        block[*at..][..2].copy_from_slice(&half.to_le_bytes());
                    }
                }
            }
            let x = pack(dtype, &random.activations(cols * tokens), cols);
            let w = Weights { dtype, cols, rows, data: &data };
            let expected = products(Isa::Scalar, &w, 0..rows, &x, tokens);
            for isa in tiers() {
                for (found, expected) in products(isa, &w, 0..rows, &x, tokens).iter().zip(&expected) {
                    let same = found.to_bits() == expected.to_bits() || (found.is_nan() && expected.is_nan());
                    assert!(same, "{isa} {dtype}: {found}, expected {expected}");
                }
            }
        }
    }
}

/// One matrix, cut into batches and ranges of every kind, gives the numbers of the whole.
#[test]
fn batches_and_ranges_do_not_change_a_bit() {
    let mut random = Random(0x7777_1234_0000_0001);
    for isa in tiers().chain([Isa::Scalar]) {
        for dtype in TYPES {
            let (cols, rows, tokens) = (96.max(dtype.block_elements()), 45, 23);
            let data = random.weights(dtype, cols * rows);
            let x = random.activations(cols * tokens);
            let w = Weights { dtype, cols, rows, data: &data };
            let whole = products(isa, &w, 0..rows, &pack(dtype, &x, cols), tokens);
            for (first, count) in [(0, 1), (3, 2), (5, 7), (12, 11)] {
                for range in [0..13, 13..14, 14..45] {
                    let part = pack(dtype, &x[first * cols..][..count * cols], cols);
                    let part = products(isa, &w, range.clone(), &part, count);
                    for (i, part) in part.iter().enumerate() {
                        let (token, row) = (first + i / range.len(), range.start + i % range.len());
                        assert_eq!(part.to_bits(), whole[token * rows + row].to_bits(), "{isa} {dtype}");
                    }
                }
            }
        }
    }
}
