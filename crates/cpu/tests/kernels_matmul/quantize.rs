//! The format of activations.

use cpu::isa::Isa;
use cpu::quantize::{quantize_blocks, quantize_row};
use graph::DType;

use crate::support::{Random, tiers};

struct Row {
    q: Vec<i8>,
    d: Vec<f32>,
    s: Vec<f32>,
    sum: Vec<i16>,
}

fn quantized(isa: Isa, x: &[f32]) -> Row {
    let mut row = vec![0x55; DType::A32.row_bytes(x.len())];
    quantize_row(isa, x, &mut row);
    read(&row, x.len())
}

fn read(row: &[u8], cols: usize) -> Row {
    let blocks = cols / 32;
    let (q, rest) = row.split_at(cols);
    let (d, rest) = rest.split_at(4 * blocks);
    let (s, rest) = rest.split_at(4 * blocks);
    let floats = |bytes: &[u8]| bytes.as_chunks().0.iter().map(|b| f32::from_le_bytes(*b)).collect();
    Row {
        q: q.iter().map(|q| *q as i8).collect(),
        d: floats(d),
        s: floats(s),
        sum: rest[..4 * blocks].as_chunks().0.iter().map(|b| i16::from_le_bytes(*b)).collect(),
    }
}

fn all() -> impl Iterator<Item = Isa> {
    tiers().chain([Isa::Scalar])
}

#[test]
fn a_block_is_its_expression() {
    let mut random = Random(0x1234_0000_5678_0001);
    for isa in all() {
        let x = random.activations(32 * 50);
        let row = quantized(isa, &x);
        for (block, x) in x.chunks_exact(32).enumerate() {
            let amax = x.iter().fold(0f32, |amax, x| amax.max(x.abs()));
            let q = &row.q[32 * block..][..32];
            let expected: Vec<i8> = x.iter().map(|x| (x * (127.0 / amax)).round_ties_even() as i8).collect();
            assert_eq!(q, expected);
            assert_eq!(row.d[block], amax / 127.0);
            let sums: Vec<i16> =
                q.chunks_exact(16).map(|half| half.iter().map(|q| i16::from(*q)).sum()).collect();
            assert_eq!(row.sum[2 * block..][..2], sums);
            assert_eq!(row.s[block], row.d[block] * f32::from(sums[0] + sums[1]));
        }
    }
}

#[test]
fn tiers_quantize_alike_whatever_the_bits() {
    let mut random = Random(0x1234_0000_5678_0003);
    for isa in tiers() {
        for round in 0..400 {
            let mut x: Vec<f32> = match round % 3 {
                0 => random.activations(96),
                1 => (0..96).map(|_| f32::from_bits(random.bits() as u32)).collect(),
                // Halves: ties wherever the scale is a power of two.
                _ => (0..96).map(|_| random.below(509) as f32 / 2.0 - 127.0).collect(),
            };
            if round % 3 == 2 {
                x.iter_mut().step_by(32).for_each(|x| *x = 127.0);
            }
            let (found, expected) = (quantized(isa, &x), quantized(Isa::Scalar, &x));
            assert_eq!(found.q, expected.q);
            assert_eq!(found.sum, expected.sum);
            let bits = |x: &[f32]| x.iter().map(|x| x.to_bits()).collect::<Vec<u32>>();
            assert_eq!(bits(&found.d), bits(&expected.d));
            assert_eq!(bits(&found.s), bits(&expected.s));
        }
    }
}

#[test]
fn ties_go_to_even_and_minus_128_never_occurs() {
    for isa in all() {
        let mut x = [0.0; 32];
        x[..6].copy_from_slice(&[-127.0, 0.5, 1.5, 2.5, -0.5, -1.5]);
        let row = quantized(isa, &x);
        assert_eq!(row.q[..6], [-127, 0, 2, 2, 0, -2]);
        // Scales whose inverse is rounded up, over many magnitudes.
        for i in 1..3000 {
            let row = quantized(isa, &[-(i as f32) * 0.37; 32]);
            assert!(row.q.iter().all(|q| *q == -127));
        }
    }
}

#[test]
fn blocks_too_small_to_scale_are_zero() {
    for isa in all() {
        for value in [0.0, -0.0, 1e-45, 1e-38, -1e-38] {
            let row = quantized(isa, &[value; 32]);
            assert_eq!((row.d[0], row.s[0]), (0.0, 0.0), "{value:e}");
            assert!(row.q.iter().all(|q| *q == 0));
            assert_eq!(row.sum, [0, 0]);
        }
        // The smallest that has an inverse is kept.
        let row = quantized(isa, &[4e-37; 32]);
        assert!(row.q.iter().all(|q| *q == 127));
    }
}

#[test]
fn blocks_with_infinities_or_nans_have_a_nan_scale_over_zeros() {
    for isa in all() {
        for value in [f32::NAN, -f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
            let mut x = [1.0; 64];
            x[37] = value;
            let row = quantized(isa, &x);
            assert!(row.q[..32].iter().all(|q| *q == 127));
            assert!(row.q[32..].iter().all(|q| *q == 0));
            assert!(row.d[1].is_nan());
            assert!(row.s[1].is_nan());
            assert_eq!(row.sum[2..], [0, 0]);
        }
    }
}

#[test]
fn a_row_filled_in_pieces_is_the_row() {
    let mut random = Random(0x1234_0000_5678_0007);
    for isa in all() {
        let x = random.activations(32 * 7);
        let bytes = DType::A32.row_bytes(x.len());
        let (mut whole, mut pieces) = (vec![0x55; bytes], vec![0x55; bytes]);
        quantize_row(isa, &x, &mut whole);
        for range in [3..7, 0..1, 1..3] {
            let x_piece = &x[32 * range.start..32 * range.end];
            // SAFETY: the row is this thread's own.
            unsafe { quantize_blocks(isa, x_piece, pieces.as_mut_ptr(), x.len(), range.start) };
        }
        assert_eq!(whole, pieces);
    }
}
