//! Random numbers as a function of seed and position.

/// 2^64 divided by the golden ratio: multiples of it are far apart.
const STEP: u64 = 0x9E37_79B9_7F4A_7C15;

/// A number in 0..1, evenly spread, that depends on both arguments and on nothing else.
pub(crate) fn uniform(seed: u64, position: u64) -> f64 {
    to_unit(bits(seed, position))
}

/// A second number of the same place, which has nothing in common with the first.
pub(crate) fn uniform_second(seed: u64, position: u64) -> f64 {
    to_unit(mix(bits(seed, position).wrapping_add(STEP)))
}

fn bits(seed: u64, position: u64) -> u64 {
    // The seed is mixed before the position comes in: seed s + 1 is not s moved by a position.
    let key = mix(seed.wrapping_add(STEP));
    mix(key.wrapping_add(position.wrapping_mul(STEP)))
}

/// The 53 bits that an f64 holds, as a number in 0..1.
fn to_unit(bits: u64) -> f64 {
    (bits >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
}

/// The finalizer of SplitMix64 (Stafford's variant 13): every input bit changes about half of all
/// output bits, and different inputs have different outputs.
fn mix(mut bits: u64) -> u64 {
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    bits ^ (bits >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_spread_evenly_over_seeds_and_positions() {
        const BUCKETS: usize = 16;
        let by_position: [fn(u64) -> f64; 4] =
            [|i| uniform(7, i), |i| uniform(i, 7), |i| uniform(i, i), |i| uniform_second(7, i)];
        for numbers in by_position {
            let mut counts = [0usize; BUCKETS];
            for i in 0..16_000 {
                let number = numbers(i);
                assert!((0.0..1.0).contains(&number));
                counts[(number * BUCKETS as f64) as usize] += 1;
            }
            // 1000 expected, with a standard deviation of 31.
            assert!(counts.iter().all(|&count| count.abs_diff(1000) < 160), "{counts:?}");
        }
    }

    #[test]
    fn neighbours_have_nothing_in_common() {
        // The mean of products of centred numbers is 0 for independent ones, 1/12 for equal ones.
        let centred = |seed, position| uniform(seed, position) - 0.5;
        for (other_seed, other_position) in [(0, 1), (1, 0), (1, 1)] {
            let products = (0..10_000).map(|i| centred(3, i) * centred(3 + other_seed, i + other_position));
            let mean = products.sum::<f64>() / 10_000.0;
            assert!(mean.abs() < 0.004, "{mean}");
        }
        let products = (0..10_000).map(|i| centred(3, i) * (uniform_second(3, i) - 0.5));
        let mean = products.sum::<f64>() / 10_000.0;
        assert!(mean.abs() < 0.004, "{mean}");
    }
}
