//! The values of blocks of 256, stretch after stretch in the order of the elements.

use super::{IQ4, half, nibbles};

/// 16 bytes of scales (low nibbles) and minima, 64 of pairs of bits, the scales of both.
pub fn q2_k(b: &[u8], out: &mut Vec<f32>) {
    let (d, dmin) = (half(&b[80..]), half(&b[82..]));
    let mut both = b[..16].iter();
    for bytes in b[16..80].chunks_exact(32) {
        for divisor in [1, 4, 16, 64] {
            for bytes in bytes.chunks_exact(16) {
                let both = both.next().unwrap();
                let (scale, min) = (d * f32::from(both % 16), dmin * f32::from(both / 16));
                out.extend(bytes.iter().map(|q| scale * f32::from(q / divisor % 4) - min));
            }
        }
    }
}

/// 32 bytes of third bits, 64 of pairs of bits, 12 of scales, the scale of all.
pub fn q3_k(b: &[u8], out: &mut Vec<f32>) {
    let (thirds, pairs, d) = (&b[..32], &b[32..96], half(&b[108..]));
    let low = nibbles(&b[96..104]);
    let high =
        [1, 4, 16, 64].into_iter().flat_map(|divisor| b[104..108].iter().map(move |b| b / divisor % 4));
    let mut scales = low.zip(high).map(|(low, high)| d * (f32::from(low + 16 * high) - 32.0));
    let mut third = 1;
    for pairs in pairs.chunks_exact(32) {
        for divisor in [1, 4, 16, 64] {
            for half in [0, 16] {
                let scale = scales.next().unwrap();
                for l in half..half + 16 {
                    let less = if thirds[l] & third == 0 { 4.0 } else { 0.0 };
                    out.push(scale * (f32::from(pairs[l] / divisor % 4) - less));
                }
            }
            third = third.rotate_left(1);
        }
    }
}

/// The scales of scales and minima, 12 bytes of both, 128 of nibbles.
pub fn q4_k(b: &[u8], out: &mut Vec<f32>) {
    let mut both = scales_and_minima(b);
    for bytes in b[16..144].chunks_exact(32) {
        for divisor in [1, 16] {
            let (scale, min) = both.next().unwrap();
            out.extend(bytes.iter().map(|q| scale * f32::from(q / divisor % 16) - min));
        }
    }
}

/// As Q4_K, with 32 bytes of fifth bits before the nibbles.
pub fn q5_k(b: &[u8], out: &mut Vec<f32>) {
    let mut both = scales_and_minima(b);
    let mut fifth = 1u8;
    for bytes in b[48..176].chunks_exact(32) {
        for divisor in [1, 16] {
            let (scale, min) = both.next().unwrap();
            for (q, fifths) in bytes.iter().zip(&b[16..48]) {
                let upper = if fifths & fifth == 0 { 0.0 } else { 16.0 };
                out.push(scale * (f32::from(q / divisor % 16) + upper) - min);
            }
            fifth = fifth.rotate_left(1);
        }
    }
}

/// The eight pairs of Q4_K and Q5_K, already multiplied with the scales of the block.
fn scales_and_minima(b: &[u8]) -> impl Iterator<Item = (f32, f32)> {
    let (d, dmin) = (half(b), half(&b[2..]));
    let [first, second, third] = [&b[4..8], &b[8..12], &b[12..16]];
    let scales = first.iter().map(|b| b % 64);
    let scales: Vec<u8> = scales.chain(third.iter().zip(first).map(|(t, f)| t % 16 + f / 64 * 16)).collect();
    let minima = second.iter().map(|b| b % 64);
    let minima: Vec<u8> = minima.chain(third.iter().zip(second).map(|(t, s)| t / 16 + s / 64 * 16)).collect();
    scales.into_iter().zip(minima).map(move |(scale, min)| (d * f32::from(scale), dmin * f32::from(min)))
}

/// 128 bytes of low nibbles, 64 of upper pairs of bits, 16 scales, the scale of all.
pub fn q6_k(b: &[u8], out: &mut Vec<f32>) {
    let (ql, qh, scales, d) = (&b[..128], &b[128..192], &b[192..208], half(&b[208..]));
    for half in 0..2 {
        let (ql, qh) = (&ql[64 * half..][..64], &qh[32 * half..][..32]);
        let mut q = [0; 128];
        for l in 0..32 {
            q[l] = ql[l] % 16 + 16 * (qh[l] % 4);
            q[l + 32] = ql[l + 32] % 16 + 16 * (qh[l] / 4 % 4);
            q[l + 64] = ql[l] / 16 + 16 * (qh[l] / 16 % 4);
            q[l + 96] = ql[l + 32] / 16 + 16 * (qh[l] / 64);
        }
        for (q, scale) in q.chunks_exact(16).zip(&scales[8 * half..]) {
            let scale = d * f32::from(scale.cast_signed());
            out.extend(q.iter().map(|q| scale * (f32::from(*q) - 32.0)));
        }
    }
}

/// The scale of all, two bytes of upper and four of lower bits of the scales, 128 of nibbles.
pub fn iq4_xs(b: &[u8], out: &mut Vec<f32>) {
    let d = half(b);
    let low = b[4..8].iter().flat_map(|b| [b % 16, b / 16]);
    let high = b[2..4].iter().flat_map(|b| [b % 4, b / 4 % 4, b / 16 % 4, b / 64]);
    let scales = low.zip(high).map(|(low, high)| d * (f32::from(low + 16 * high) - 32.0));
    for (scale, bytes) in scales.zip(b[8..136].chunks_exact(16)) {
        out.extend(nibbles(bytes).map(|index| scale * f32::from(IQ4[usize::from(index)])));
    }
}
