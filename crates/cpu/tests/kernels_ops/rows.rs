use cpu::elementwise::{add, cap, geglu, gelu_row, swiglu};
use cpu::isa::Isa;
use cpu::kv::{KV_TYPES, kv_row_bytes, load_row, store_row};
use cpu::matmul::dequantize_row;
use cpu::norm::{layer_norm_row, layer_norm_row_raw, rms_norm_row, rms_norm_row_raw};
use cpu::rope::{RopePairs, rope_row, rope_table};
use graph::DType;
use graph::op::RopeScaling;

use crate::support::{Random, assert_near, assert_same, same, special_floats, vector_tiers};

const LENGTHS: [usize; 14] = [1, 2, 7, 8, 9, 15, 16, 17, 31, 64, 100, 576, 1000, 1536];

#[test]
fn rms_norm_is_near_the_reference_and_the_same_in_every_tier() {
    let mut random = Random::new(3);
    for n in LENGTHS {
        let (x, w) = (random.floats(n, 5.0), random.floats(n, 2.0));
        let mut scalar = vec![0.0; n];
        rms_norm_row(Isa::Scalar, &x, &w, 1e-5, &mut scalar);
        assert_near(&scalar, &reference::norm::rms_norm(&x, &w, 1e-5), 2e-6, "norm");
        for isa in vector_tiers() {
            let mut out = x.clone();
            // SAFETY: the row has n elements and is its own result.
            unsafe { rms_norm_row_raw(isa, out.as_ptr(), &w, 1e-5, out.as_mut_ptr()) };
            assert_same(&scalar, &out, "norm in place");
        }
    }
}

#[test]
fn a_row_of_zeros_has_a_norm_of_zeros() {
    for isa in vector_tiers().chain([Isa::Scalar]) {
        let mut out = vec![1.0; 40];
        rms_norm_row(isa, &[0.0; 40], &[2.0; 40], 1e-6, &mut out);
        assert_eq!(out, [0.0; 40]);
    }
}

#[test]
fn layer_norm_is_near_the_reference_and_the_same_in_every_tier() {
    let mut random = Random::new(31);
    for n in LENGTHS {
        for offset in [0.0, 40.0] {
            let x: Vec<f32> = random.floats(n, 5.0).iter().map(|x| x + offset).collect();
            let (w, b) = (random.floats(n, 2.0), random.floats(n, 1.0));
            let mut scalar = vec![0.0; n];
            layer_norm_row(Isa::Scalar, &x, &w, &b, 1e-5, &mut scalar);
            // The mean is rounded: what is left of a large offset counts.
            let tolerance = if n < 4 { 1e-2 } else { 2e-5 };
            assert_near(&scalar, &reference::norm::layer_norm(&x, &w, &b, 1e-5), tolerance, "layer norm");
            for isa in vector_tiers() {
                let mut out = x.clone();
                // SAFETY: the row has n elements and is its own result.
                unsafe { layer_norm_row_raw(isa, out.as_ptr(), &w, &b, 1e-5, out.as_mut_ptr()) };
                assert_same(&scalar, &out, "layer norm in place");
            }
        }
    }
}

/// Also with an epsilon as small as files of encoders have it: 0 times a large factor is 0.
#[test]
fn a_row_of_equal_numbers_has_its_bias_as_layer_norm() {
    for isa in vector_tiers().chain([Isa::Scalar]) {
        for value in [0.0, 2.0] {
            let mut out = vec![1.0; 40];
            layer_norm_row(isa, &[value; 40], &[2.0; 40], &[0.25; 40], 1e-12, &mut out);
            assert_eq!(out, [0.25; 40]);
        }
    }
}

#[test]
fn gelu_is_near_the_reference_and_the_same_in_every_tier() {
    let mut random = Random::new(32);
    for n in LENGTHS {
        let x = random.floats(n, 12.0);
        let run = |isa: Isa| {
            let mut out = x.clone();
            // SAFETY: the row has n elements and is its own result.
            unsafe { gelu_row(isa, out.as_ptr(), out.as_mut_ptr(), n) };
            out
        };
        let scalar = run(Isa::Scalar);
        let expected: Vec<f32> = x.iter().map(|x| reference::elementwise::gelu(*x)).collect();
        assert_near(&scalar, &expected, 2e-6, "gelu");
        vector_tiers().for_each(|isa| assert_same(&scalar, &run(isa), "gelu"));
    }
}

#[test]
fn sums_and_swiglu_are_near_the_reference_and_the_same_in_every_tier() {
    let mut random = Random::new(4);
    for n in LENGTHS {
        let (a, b) = (random.floats(n, 20.0), random.floats(n, 3.0));
        let run = |isa: Isa| {
            let (mut sum, mut product) = (a.clone(), b.clone());
            // SAFETY: all have n elements; a result is one of its operands.
            unsafe {
                add(isa, sum.as_ptr(), b.as_ptr(), sum.as_mut_ptr(), n);
                swiglu(isa, a.as_ptr(), product.as_ptr(), product.as_mut_ptr(), n);
            }
            (sum, product)
        };
        let (sum, product) = run(Isa::Scalar);
        assert_same(&sum, &reference::elementwise::add(&a, &b), "add");
        assert_near(&product, &reference::elementwise::swiglu(&a, &b), 1e-6, "swiglu");
        for isa in vector_tiers() {
            assert_same(&sum, &run(isa).0, "add");
            assert_same(&product, &run(isa).1, "swiglu");
        }
    }
}

#[test]
fn geglu_and_caps_are_near_the_reference_and_the_same_in_every_tier() {
    let mut random = Random::new(14);
    for n in LENGTHS {
        let (a, b) = (random.floats(n, 20.0), random.floats(n, 3.0));
        let run = |isa: Isa| {
            let (mut product, mut capped) = (b.clone(), a.clone());
            // SAFETY: all have n elements; a result is one of its operands.
            unsafe {
                geglu(isa, a.as_ptr(), product.as_ptr(), product.as_mut_ptr(), n);
                cap(isa, capped.as_ptr(), 6.0, capped.as_mut_ptr(), n);
            }
            (product, capped)
        };
        let (product, capped) = run(Isa::Scalar);
        assert_near(&product, &reference::elementwise::geglu(&a, &b), 2e-6, "geglu");
        assert_near(&capped, &reference::elementwise::soft_cap(&a, 6.0), 2e-6, "cap");
        for isa in vector_tiers() {
            assert_same(&product, &run(isa).0, "geglu");
            assert_same(&capped, &run(isa).1, "cap");
        }
    }
}

#[test]
fn rope_is_near_the_reference_and_the_same_in_every_tier() {
    let mut random = Random::new(5);
    for (dim, rot) in [(64, 64), (20, 20), (72, 70), (80, 32), (16, 6), (128, 128), (2, 2)] {
        for pairs in [RopePairs::Neighbours, RopePairs::Halves] {
            for position in [0, 1, 77, 8191, 131_071] {
                let factors = (position % 2 == 1).then(|| vec![1.5; rot / 2]);
                let heads = 3;
                let x = random.floats(heads * dim, 2.0);
                let mut table = vec![0.0; rot];
                rope_table(position, rot, 1e5, &RopeScaling::NONE, factors.as_deref(), &mut table);
                let run = |isa: Isa| {
                    let mut x = x.clone();
                    // SAFETY: x has three heads.
                    unsafe { rope_row(isa, x.as_mut_ptr(), heads, dim, rot, pairs, &table) };
                    x
                };
                let scalar = run(Isa::Scalar);
                for (head, ours) in x.chunks(dim).zip(scalar.chunks(dim)) {
                    let neighbours = pairs == RopePairs::Neighbours;
                    let theirs =
                        reference::rope::rope(head, position, rot, 1e5, factors.as_deref(), neighbours);
                    assert_near(ours, &theirs, 1e-6, "rope");
                    assert_same(&ours[rot..], &head[rot..], "dimensions that stay");
                }
                for isa in vector_tiers() {
                    assert_same(&scalar, &run(isa), "rope");
                }
            }
        }
    }
}

/// Stores and loads a row.
fn through(isa: Isa, dtype: DType, x: &[f32]) -> (Vec<u8>, Vec<f32>) {
    let mut bytes = vec![0u32; kv_row_bytes(dtype, x.len()).div_ceil(4)];
    let mut back = vec![0.0f32; x.len()];
    // SAFETY: the row has its bytes, aligned to 4.
    unsafe {
        store_row(isa, dtype, x.as_ptr(), x.len(), bytes.as_mut_ptr().cast());
        load_row(isa, dtype, bytes.as_ptr().cast(), x.len(), back.as_mut_ptr());
    }
    (bytes.into_iter().flat_map(u32::to_le_bytes).collect(), back)
}

#[test]
fn stored_rows_have_the_same_bytes_in_every_tier() {
    let mut random = Random::new(6);
    let mut rows: Vec<Vec<f32>> = Vec::new();
    for n in [32, 64, 96, 256] {
        for size in [1e-9, 1e-6, 1.0, 300.0, 1e5, 1e30] {
            rows.push(random.floats(n, size));
        }
        rows.push((0..n).map(|_| f32::from_bits(random.bits())).collect());
        rows.push(vec![0.0; n]);
    }
    let special = special_floats();
    for value in &special {
        let mut row = random.floats(32, 1.0);
        row[random.below(32)] = *value;
        rows.push(row);
    }
    for row in &rows {
        for dtype in KV_TYPES {
            let (bytes, back) = through(Isa::Scalar, dtype, row);
            for isa in vector_tiers() {
                let (bytes_too, back_too) = through(isa, dtype, row);
                assert_same(&back, &back_too, dtype.name());
                if !row.iter().any(|x| x.is_nan()) {
                    assert_eq!(bytes, bytes_too, "{dtype}");
                }
            }
        }
    }
    for n in [1, 7, 20, 33] {
        let row = random.floats(n, 1.0);
        for dtype in [DType::F16, DType::BF16] {
            let (bytes, back) = through(Isa::Scalar, dtype, &row);
            for isa in vector_tiers() {
                let (bytes_too, back_too) = through(isa, dtype, &row);
                assert_eq!(bytes, bytes_too, "{dtype}");
                assert_same(&back, &back_too, dtype.name());
            }
        }
    }
}

#[test]
fn rows_of_f16_saturate_and_keep_nan() {
    for isa in vector_tiers().chain([Isa::Scalar]) {
        let x = [7e4, -7e4, f32::INFINITY, f32::NEG_INFINITY, f32::NAN, 65_519.0, 1.0, 0.1];
        let (_, back) = through(isa, DType::F16, &x);
        let max = 65_504.0;
        let expected = [max, -max, max, -max, f32::NAN, max, 1.0, 0.099_975_586];
        assert_same(&back, &expected, "f16");
    }
}

#[test]
fn rows_of_bf16_round_to_the_even_neighbour_saturate_and_keep_nan() {
    let max = f32::from_bits(0x7f7f_0000);
    // Between two neighbours: below the middle, the middle with the even one below and above, above it.
    let between = [0x3f80_7fff, 0x3f80_8000, 0x3f81_8000, 0x3f80_8001, 0xbf81_8000].map(f32::from_bits);
    let rounded = [0x3f80_0000, 0x3f80_0000, 0x3f82_0000, 0x3f81_0000, 0xbf82_0000].map(f32::from_bits);
    let x = [f32::MAX, f32::INFINITY, f32::NEG_INFINITY, f32::NAN, max, f32::from_bits(0x7f80_0001)];
    let expected = [max, max, -max, f32::NAN, max, f32::NAN];
    for isa in vector_tiers().chain([Isa::Scalar]) {
        assert_same(
            &through(isa, DType::BF16, &[&x[..], &between].concat()).1,
            &[&expected[..], &rounded].concat(),
            "bf16",
        );
    }
}

#[test]
fn rows_of_q4_0_are_those_of_the_format_and_nan_stays_in_its_block() {
    let mut random = Random::new(8);
    for isa in vector_tiers().chain([Isa::Scalar]) {
        for size in [1e-3, 1.0, 40.0, 1e4] {
            let mut x = random.floats(96, size);
            // Two elements of the largest magnitude: the first one's sign counts.
            (x[70], x[80]) = (-2.0 * size, 2.0 * size);
            let (bytes, back) = through(isa, DType::Q4_0, &x);
            assert_eq!(bytes[..54], reference::kv::q4_0(&x), "{isa}");
            let mut weights = vec![0.0; 96];
            dequantize_row(DType::Q4_0, &bytes[..54], &mut weights);
            // Equal as numbers: a zero may have another sign.
            assert_eq!(back, weights, "{isa}");
            for (x, back) in x.chunks(32).zip(back.chunks(32)) {
                let step = x.iter().fold(0.0f32, |a, x| a.max(x.abs())) / 8.0;
                // A whole step away where the largest one has the other sign, half a step elsewhere.
                assert!(x.iter().zip(back).all(|(x, back)| (x - back).abs() <= step * 1.01));
            }
            x[40] = f32::NAN;
            let (_, damaged) = through(isa, DType::Q4_0, &x);
            assert!(damaged[32..64].iter().all(|x| x.is_nan()));
            assert!((0..32).chain(64..96).all(|i| same(damaged[i], back[i])));
        }
        for huge in [f32::INFINITY, f32::NEG_INFINITY, 1e30, 6e5] {
            let mut x = vec![1.0; 32];
            x[7] = huge;
            let (_, back) = through(isa, DType::Q4_0, &x);
            assert!(back.iter().all(|x| x.is_finite()), "{isa} {huge}");
            assert_eq!(back[7], 524_032.0f32.copysign(huge), "{isa} {huge}");
        }
    }
}

#[test]
fn rows_of_q8_0_are_within_a_step_and_nan_stays_in_its_block() {
    let mut random = Random::new(7);
    for isa in vector_tiers().chain([Isa::Scalar]) {
        let mut x = random.floats(96, 3.0);
        let (_, back) = through(isa, DType::Q8_0, &x);
        assert_near(&back, &x, 3.0 / 127.0 * 0.6, "q8_0");
        x[40] = f32::NAN;
        let (_, damaged) = through(isa, DType::Q8_0, &x);
        assert!(damaged[32..64].iter().all(|x| x.is_nan()));
        assert!((0..32).chain(64..96).all(|i| same(damaged[i], back[i])));
    }
}
