//! Draws, probabilities and errors.

use arbtest::arbitrary::{Result, Unstructured};
use arbtest::arbtest;
use sample::{SampleError, Sampler, Settings, TEMPERATURE_MIN, argmax, log_softmax_at, logprobs, top_n};

const INF: f32 = f32::INFINITY;

fn at(temperature: f32, seed: u64) -> Settings {
    Settings { temperature, seed, ..Settings::default() }
}

fn sample(logits: &[f32], settings: &Settings, position: u64) -> std::result::Result<u32, SampleError> {
    Sampler::new(settings.clone()).expect("valid settings").sample(logits, &[], position)
}

/// A row of 1 to 300 logits, with ties, forbidden tokens and, sometimes, large numbers.
fn logits(u: &mut Unstructured) -> Result<Vec<f32>> {
    let count = u.int_in_range(1..=300)?;
    let mut row = Vec::with_capacity(count);
    for _ in 0..count {
        row.push(match u.int_in_range(0..=9)? {
            0 => -INF,
            1 => u.int_in_range(-3..=3)? as f32,
            2 => u.int_in_range(-3..=3)? as f32 * 1e37,
            _ => u.int_in_range(-2000..=2000)? as f32 / 100.0,
        });
    }
    Ok(row)
}

fn softmax(logits: &[f32], temperature: f64) -> Vec<f64> {
    let max = logits.iter().copied().fold(-INF, f32::max) as f64;
    let weights: Vec<f64> =
        logits.iter().map(|&logit| libm::exp((logit as f64 - max) / temperature)).collect();
    let total: f64 = weights.iter().sum();
    weights.iter().map(|weight| weight / total).collect()
}

#[test]
fn zero_and_tiny_temperatures_take_the_lowest_of_the_best_tokens() {
    let row = [1.0, 3.0, -INF, 3.0, 2.999];
    for temperature in [0.0, -0.0, 1e-45, 1e-38, 1e-10, TEMPERATURE_MIN / 2.0] {
        for position in 0..50 {
            assert_eq!(sample(&row, &at(temperature, 9), position), Ok(1));
        }
    }
    assert_eq!(Settings::default().temperature, 0.0);
}

#[test]
fn low_temperatures_take_the_best_token_and_high_ones_any() {
    let row = [0.0, 30.0, -30.0, 29.0];
    for temperature in [TEMPERATURE_MIN, 1e-4, 1e-2] {
        assert!((0..200).all(|position| sample(&row, &at(temperature, 1), position) == Ok(1)));
    }
    for temperature in [1e6, f32::MAX] {
        let mut seen = [false; 4];
        (0..200).for_each(|i| seen[sample(&row, &at(temperature, 1), i).unwrap() as usize] = true);
        assert_eq!(seen, [true; 4]);
    }
}

#[test]
fn tokens_come_as_often_as_the_softmax_says() {
    // 200 logits, so that the walk crosses chunks; a few tokens hold most of the weight.
    let mut row: Vec<f32> = (0..200).map(|id| ((id * 37) % 200) as f32 / -40.0).collect();
    row[70] = 2.0;
    row[199] = 1.5;
    row[3] = -INF;
    const DRAWS: u64 = 10_000;
    for temperature in [0.5f32, 1.0, 2.0] {
        let mut counts = vec![0u64; row.len()];
        for position in 0..DRAWS {
            counts[sample(&row, &at(temperature, 5), position).unwrap() as usize] += 1;
        }
        let expected = softmax(&row, temperature.into());
        // The sum of squared deviations in units of the variance: about one a token.
        let mut chi_squared = 0.0;
        for (count, share) in counts.iter().zip(&expected) {
            let mean = share * DRAWS as f64;
            if mean > 5.0 {
                chi_squared += (*count as f64 - mean).powi(2) / mean;
            }
        }
        assert!(chi_squared < 290.0, "temperature {temperature}: {chi_squared}");
        assert_eq!(counts[3], 0);
    }
}

#[test]
fn a_token_depends_on_seed_and_position_only() {
    let row: Vec<f32> = (0..64).map(|id| (id % 7) as f32 / 10.0).collect();
    let text = |seed, start: u64| -> Vec<u32> {
        (start..start + 40).map(|position| sample(&row, &at(1.0, seed), position).unwrap()).collect()
    };
    assert_eq!(text(1, 0), text(1, 0));
    // A run that is resumed goes on as it would have.
    assert_eq!(text(1, 0)[10..], text(1, 10)[..30]);
    assert_ne!(text(1, 0), text(2, 0));
    // The next seed is not the same text moved by one.
    assert_ne!(text(2, 0)[..39], text(1, 1)[..39]);
}

#[test]
fn the_sampled_tokens_are_the_same_on_every_machine() {
    let row: Vec<f32> = (0..1000).map(|id| ((id * 7919) % 1000) as f32 / 150.0).collect();
    let text: Vec<u32> = (0..12).map(|position| sample(&row, &at(0.8, 42), position).unwrap()).collect();
    assert_eq!(text, [694, 337, 952, 494, 67, 668, 67, 200, 741, 115, 717, 642]);
}

#[test]
fn a_sampled_token_is_possible() {
    arbtest(|u| {
        let row = logits(u)?;
        let temperature = u.int_in_range(0..=500)? as f32 / 100.0;
        let result = sample(&row, &at(temperature, u.arbitrary()?), u.arbitrary()?);
        if row.iter().all(|&logit| logit == -INF) {
            assert_eq!(result, Err(SampleError::NoTokenPossible { count: row.len() }));
        } else {
            assert!(row[result.unwrap() as usize] > -INF);
        }
        Ok(())
    });
}

#[test]
fn infinite_logits_leave_only_their_tokens() {
    let row = [INF, 5.0, INF, -INF];
    assert_eq!(sample(&row, &at(0.0, 0), 0), Ok(0));
    let mut counts = [0; 4];
    (0..1000).for_each(|i| counts[sample(&row, &at(1.0, 3), i).unwrap() as usize] += 1);
    assert!(counts[0] > 400 && counts[2] > 400, "{counts:?}");
    assert_eq!(counts[0] + counts[2], 1000);
    assert_eq!(log_softmax_at(&row, 0), Ok(-std::f64::consts::LN_2));
    assert_eq!(log_softmax_at(&row, 1), Ok(f64::NEG_INFINITY));
}

#[test]
fn wrong_input_is_an_error_that_says_what_is_wrong() {
    let check = |row: &[f32], temperature, expected: &str| {
        let error = sample(row, &at(temperature, 0), 0).unwrap_err();
        assert_eq!(error.to_string(), expected);
    };
    for temperature in [0.0, 1.0] {
        check(&[1.0, f32::NAN, f32::NAN], temperature, "no token possible: the logit of token 1 is NaN");
        let none = "no token possible: none of the 2 logits is above minus infinity";
        check(&[-INF, -INF], temperature, none);
        let none = "no token possible: none of the 0 logits is above minus infinity";
        check(&[], temperature, none);
    }
    assert_eq!(log_softmax_at(&[1.0], 1), Err(SampleError::IdOutOfRange { id: 1, count: 1 }));
    assert_eq!(log_softmax_at(&[1.0, f32::NAN], 0), Err(SampleError::NanLogit { id: 1 }));
}

#[test]
fn log_probabilities_are_near_the_exact_ones_and_sum_to_one() {
    arbtest(|u| {
        let row = logits(u)?;
        if argmax(&row).is_err() {
            return Ok(());
        }
        let exact = softmax(&row, 1.0);
        let mut sum = 0.0;
        for (id, share) in exact.iter().enumerate() {
            let log = log_softmax_at(&row, id as u32).unwrap();
            sum += libm::exp(log);
            if *share > 0.0 {
                assert_eq!(logprobs(&row, id as u32, 0), Ok((log, Vec::new())));
                assert!((log - libm::log(*share)).abs() < 1e-6, "{log} for a share of {share}");
            }
        }
        assert!((sum - 1.0).abs() < 1e-6, "{sum}");
        Ok(())
    });
}

#[test]
fn top_n_is_the_beginning_of_the_sorted_row() {
    arbtest(|u| {
        let mut row = logits(u)?;
        if u.ratio(1, 3)? {
            row[0] = f32::NAN;
        }
        let n = u.int_in_range(0..=row.len() + 2)?;
        let mut sorted: Vec<(u32, f32)> = (0..).zip(row.iter().copied()).collect();
        sorted.retain(|(_, logit)| !logit.is_nan());
        // A stable sort keeps lower ids first.
        sorted.sort_by(|a, b| b.1.partial_cmp(&a.1).unwrap());
        sorted.truncate(n);
        assert_eq!(top_n(&row, n), sorted);
        if let (Ok(best), Some(first)) = (argmax(&row), sorted.first()) {
            assert_eq!(best, first.0);
        }
        Ok(())
    });
}

#[test]
fn logprobs_are_those_of_the_best_tokens_and_of_the_one_chosen() {
    let row = [0.25f32, 0.125, 0.0, 0.5, 0.125].map(f32::ln);
    let (chosen, best) = logprobs(&row, 1, 3).unwrap();
    assert!((chosen - 0.125f64.ln()).abs() < 1e-6);
    let ids: Vec<u32> = best.iter().map(|token| token.0).collect();
    assert_eq!(ids, [3, 0, 1]);
    assert!((best[0].1 - 0.5f64.ln()).abs() < 1e-6);
    assert_eq!(best[2].1, chosen);
    assert_eq!(logprobs(&row, 2, 9).unwrap().0, f64::NEG_INFINITY);
    assert_eq!(logprobs(&row, 2, 9).unwrap().1.len(), 5);
    assert_eq!(logprobs(&row, 5, 1), Err(SampleError::IdOutOfRange { id: 5, count: 5 }));
    assert_eq!(logprobs(&[-INF], 0, 1), Err(SampleError::NoTokenPossible { count: 1 }));
}
