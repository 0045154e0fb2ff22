//! Blocks of every quantized type, with values that another implementation reads in them.

use cpu::matmul::dequantize_row;
use graph::DType;

use crate::support::scales;

/// A block of fixed bytes, the first scale 0.0123 and the second -0.0456 in half precision.
fn block(dtype: DType) -> Vec<u8> {
    let byte = |k: u32| ((k * k * k * 7 + k * k * 13 + k * 31 + 5) / 3) as u8;
    let mut block: Vec<u8> = (0..dtype.block_bytes() as u32).map(byte).collect();
    for ((at, _), value) in scales(dtype).iter().zip([0.0123, -0.0456]) {
        block[*at..][..2].copy_from_slice(&half::f16::from_f32(value).to_le_bytes());
    }
    block
}

/// An element of each eighth and the sum of all, from the dequantizers of the Python package gguf.
#[rustfmt::skip] // A table reads best with a line for each row.
const EXPECTED: [(DType, [f32; 8], f64); 12] = [
    (DType::Q4_0, [0.024597168, 0.073791504, 0.06149292, 0.06149292, -0.06149292, -0.06149292, 0.024597168, -0.036895752], -0.504241943359375),
    (DType::Q4_1, [0.015899658, -0.020996094, 0.028198242, 0.028198242, -0.04559326, 0.028198242, 0.12658691, 0.028198242], 1.2467041015625),
    (DType::Q5_0, [-0.15988159, 0.012298584, 0.012298584, 0.12298584, 0.15988159, -0.073791504, 0.06149292, 0.13528442], -0.946990966796875),
    (DType::Q5_1, [0.20037842, 0.07739258, 0.33566284, 0.26187134, 0.16348267, 0.028198242, 0.212677, 0.101989746], 4.3951416015625),
    (DType::Q8_0, [0.7133179, 0.7625122, -1.0207825, 1.1437683, 1.1683655, -0.6764221, 1.537323, 1.0084839], 1.094573974609375),
    (DType::Q2_K, [0.012298584, 0.38275146, 0.18447876, 0.5927124, 0.27355957, 0.45593262, 0.6425171, 0.63830566], 98.14260864257812),
    (DType::Q3_K, [-0.0, -0.63952637, -0.13528442, -0.31976318, -0.47964478, -0.14758301, 1.1806641, -0.0], 8.350738525390625),
    (DType::Q4_K, [0.97335815, 2.226593, 4.143341, 10.654724, 1.2553406, 2.4296875, 7.9436646, 3.2719727], 1017.2518005371094),
    (DType::Q5_K, [1.9572449, 3.1489868, 4.143341, 15.99231, 1.2553406, 1.0030518, 18.569641, 2.583252], 1711.5314636230469),
    (DType::Q6_K, [24.019135, -0.73791504, -13.786713, -33.51364, 4.0585327, 7.305359, -3.2468262, 4.42749], -346.6847839355469),
    (DType::IQ4_NL, [0.3074646, 1.094574, 0.8486023, 0.8486023, -0.79940796, -0.79940796, 0.3074646, -0.43045044], -6.4444580078125),
    (DType::IQ4_XS, [-3.013153, -0.0, 6.4567566, -3.1976318, 3.283722, -2.545807, 28.114563, -0.81170654], 347.2628173828125),
];

#[test]
fn blocks_hold_the_numbers_that_others_read() {
    for (dtype, expected, expected_sum) in EXPECTED {
        let count = dtype.block_elements();
        let mut values = vec![0.0; count];
        dequantize_row(dtype, &block(dtype), &mut values);
        let found: [f32; 8] = std::array::from_fn(|i| values[count / 8 * i + i * 5 % (count / 8)]);
        assert_eq!(found, expected, "{dtype}");
        assert_eq!(values.iter().map(|v| f64::from(*v)).sum::<f64>(), expected_sum, "{dtype}");
        assert_eq!(values, reference::matmul::dequantize(dtype, &block(dtype)), "{dtype}");
    }
}
