//! Special values: what zero, infinity and numbers that are none mean.

use sample::{SampleError, Sampler, Settings};

const INF: f32 = f32::INFINITY;
const ROW: [f32; 5] = [1.0, 3.0, 3.0, -INF, 2.0];

fn warm() -> Settings {
    Settings { temperature: 1.0, ..Settings::default() }
}

/// The tokens that come in 400 draws, in their order.
fn tokens(row: &[f32], history: &[u32], settings: Settings) -> Vec<u32> {
    let mut sampler = Sampler::new(settings).expect("valid settings");
    let mut tokens: Vec<u32> =
        (0..400).map(|position| sampler.sample(row, history, position).expect("a token")).collect();
    tokens.sort_unstable();
    tokens.dedup();
    tokens
}

#[test]
fn temperature_zero_takes_the_best_whatever_the_filters_say() {
    for temperature in [0.0, 1e-9] {
        for top_p in [0.0, 0.5, 1.0] {
            let settings = Settings { temperature, top_p, ..Settings::default() };
            assert_eq!(tokens(&ROW, &[], settings), [1]);
        }
        let xtc = Settings { temperature, xtc_probability: 1.0, xtc_threshold: 0.0, ..Settings::default() };
        assert_eq!(tokens(&ROW, &[], xtc), [1]);
        let biased = Settings { temperature, logit_bias: vec![(4, 1.5)], ..Settings::default() };
        assert_eq!(tokens(&ROW, &[], biased), [4]);
        let seen = Settings { temperature, repeat_penalty: 2.0, ..Settings::default() };
        assert_eq!(tokens(&ROW, &[1, 2], seen), [4]);
    }
    assert_eq!(tokens(&ROW, &[], Settings { temperature: 1e30, ..warm() }), [0, 1, 2, 4]);
}

#[test]
fn top_k_of_zero_or_less_is_off() {
    for (top_k, expected) in [
        (i32::MIN, &[0, 1, 2, 4][..]),
        (-1, &[0, 1, 2, 4]),
        (0, &[0, 1, 2, 4]),
        (1, &[1]),
        (2, &[1, 2]),
        (3, &[1, 2, 4]),
        (5, &[0, 1, 2, 4]),
        (1_000_000_000, &[0, 1, 2, 4]),
    ] {
        assert_eq!(tokens(&ROW, &[], Settings { top_k, ..warm() }), expected, "top_k {top_k}");
    }
}

#[test]
fn shares_of_zero_leave_one_token_and_of_one_all() {
    assert_eq!(tokens(&ROW, &[], Settings { top_p: 0.0, ..warm() }), [1]);
    assert_eq!(tokens(&ROW, &[], Settings { top_p: 1.0, ..warm() }), [0, 1, 2, 4]);
    assert_eq!(tokens(&ROW, &[], Settings { typical_p: 0.0, ..warm() }).len(), 1);
    assert_eq!(tokens(&ROW, &[], Settings { typical_p: 1.0, ..warm() }), [0, 1, 2, 4]);
    assert_eq!(tokens(&ROW, &[], Settings { min_p: 0.0, ..warm() }), [0, 1, 2, 4]);
    assert_eq!(tokens(&ROW, &[], Settings { min_p: 1.0, ..warm() }), [1, 2]);
    assert_eq!(tokens(&ROW, &[], Settings { xtc_probability: 0.0, ..warm() }), [0, 1, 2, 4]);
}

#[test]
fn repeat_last_n_says_how_far_back_penalties_look() {
    let strong = |repeat_last_n| Settings { presence_penalty: 1e30, repeat_last_n, ..warm() };
    let history = [1, 2, 4];
    assert_eq!(tokens(&ROW, &history, strong(0)), [0, 1, 2, 4]);
    assert_eq!(tokens(&ROW, &history, strong(1)), [0, 1, 2]);
    assert_eq!(tokens(&ROW, &history, strong(2)), [0, 1]);
    assert_eq!(tokens(&ROW, &history, strong(-1)), [0]);
    // Tokens without logit, as those of images, are no reason to stop.
    assert_eq!(tokens(&ROW, &[1, 2, 4, 1000, u32::MAX], strong(-1)), [0]);
}

#[test]
fn no_penalty_forbids_the_last_token() {
    let hard = Settings {
        repeat_penalty: f32::MAX,
        presence_penalty: f32::MAX,
        frequency_penalty: f32::MAX,
        dry_multiplier: f32::MAX,
        dry_base: f32::MAX,
        ..warm()
    };
    let history = [0, 0, 0, 0];
    assert_eq!(tokens(&[5.0], &history, hard.clone()), [0]);
    assert_eq!(tokens(&[-5.0, -INF], &history, hard.clone()), [0]);
    assert_eq!(tokens(&[5.0], &history, Settings { temperature: 0.0, ..hard.clone() }), [0]);
    // Nor makes a reward a token certain.
    let reward = Settings { presence_penalty: -f32::MAX, repeat_penalty: 1e-45, ..warm() };
    assert_eq!(tokens(&[5.0, f32::MAX], &history, reward), [0, 1]);
}

#[test]
fn a_vocabulary_of_one_gives_its_token_under_all_steps() {
    let all = Settings {
        top_k: 1,
        top_p: 0.0,
        min_p: 1.0,
        typical_p: 0.0,
        xtc_probability: 1.0,
        xtc_threshold: 0.0,
        repeat_penalty: 1.5,
        dry_multiplier: 1.0,
        ..warm()
    };
    for logit in [-1e30, 0.0, 7.0, f32::MAX, INF] {
        assert_eq!(tokens(&[logit], &[0, 0, 0], all.clone()), [0]);
    }
}

#[test]
fn certain_tokens_stay_certain_under_all_steps() {
    let row = [INF, 5.0, INF, -INF, INF];
    assert_eq!(tokens(&row, &[], Settings { top_p: 0.5, ..warm() }), [0, 2]);
    assert_eq!(tokens(&row, &[], Settings { top_k: 2, ..warm() }), [0, 2]);
    assert_eq!(tokens(&row, &[0], Settings { min_p: 0.5, presence_penalty: 9.0, ..warm() }), [0, 2, 4]);
    assert_eq!(tokens(&row, &[], Settings { typical_p: 0.9, ..warm() }), [0, 2, 4]);
    assert_eq!(tokens(&row, &[], Settings { logit_bias: vec![(2, -INF)], ..warm() }), [0, 4]);
}

#[test]
fn settings_out_of_range_are_an_error_that_names_the_field() {
    type Set = fn(&mut Settings, f32);
    let refuse = |field: &str, set: Set, values: &[f32]| {
        for &value in values {
            let mut settings = Settings::default();
            set(&mut settings, value);
            let error = Sampler::new(settings).expect_err(field);
            assert_eq!(error.field, field);
            assert!(error.to_string().starts_with(&format!("{field} is ")), "{error}");
        }
    };
    const NAN: f32 = f32::NAN;
    refuse("temperature", |s, v| s.temperature = v, &[NAN, -1.0, INF]);
    refuse("top_p", |s, v| s.top_p = v, &[NAN, -0.1, 1.5, INF]);
    refuse("min_p", |s, v| s.min_p = v, &[NAN, -0.1, 2.0]);
    refuse("typical_p", |s, v| s.typical_p = v, &[NAN, -0.1, 2.0]);
    refuse("repeat_penalty", |s, v| s.repeat_penalty = v, &[NAN, 0.0, -1.0, INF]);
    refuse("presence_penalty", |s, v| s.presence_penalty = v, &[NAN, INF, -INF]);
    refuse("frequency_penalty", |s, v| s.frequency_penalty = v, &[NAN, INF]);
    refuse("repeat_last_n", |s, v| s.repeat_last_n = v as i32, &[-2.0]);
    refuse("dry_multiplier", |s, v| s.dry_multiplier = v, &[NAN, -1.0, INF]);
    refuse("dry_base", |s, v| s.dry_base = v, &[NAN, 0.5, INF]);
    refuse("dry_penalty_last_n", |s, v| s.dry_penalty_last_n = v as i32, &[-2.0]);
    refuse("dry_sequence_breakers", |s, _| s.dry_sequence_breakers = vec![vec![1], vec![]], &[0.0]);
    refuse("xtc_probability", |s, v| s.xtc_probability = v, &[NAN, -0.5, 1.5]);
    refuse("xtc_threshold", |s, v| s.xtc_threshold = v, &[NAN, -0.5, 1.5]);
    refuse("logit_bias", |s, v| s.logit_bias = vec![(0, 1.0), (1, v)], &[NAN, INF]);
    let error = Sampler::new(Settings { temperature: -1.0, ..Settings::default() }).unwrap_err();
    assert_eq!(error.to_string(), "temperature is -1; expected a finite number, 0 or more");
}

#[test]
fn logits_without_a_token_are_an_error_under_all_steps() {
    let all = Settings { top_k: 2, top_p: 0.5, min_p: 0.1, repeat_penalty: 1.1, ..warm() };
    for settings in [Settings::default(), warm(), all] {
        let mut sampler = Sampler::new(settings).unwrap();
        let none = |count| Err(SampleError::NoTokenPossible { count });
        assert_eq!(sampler.sample(&[], &[], 0), none(0));
        assert_eq!(sampler.sample(&[-INF, -INF], &[0], 0), none(2));
        let nan = Err(SampleError::NanLogit { id: 1 });
        assert_eq!(sampler.sample(&[f32::MAX, f32::NAN, INF], &[0], 0), nan);
        // An error leaves nothing behind.
        assert_eq!(sampler.sample(&[-INF, 1.0, -INF], &[0, 0], 0), Ok(1));
    }
    let mut sampler = Sampler::new(Settings { logit_bias: vec![(0, -INF), (1, -INF)], ..warm() }).unwrap();
    assert_eq!(sampler.sample(&[1.0, 2.0], &[], 0), Err(SampleError::NoTokenPossible { count: 2 }));
    assert_eq!(sampler.sample(&[1.0], &[], 0), Err(SampleError::IdOutOfRange { id: 1, count: 1 }));
}
