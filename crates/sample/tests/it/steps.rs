//! What each step leaves, on rows whose probabilities are known.

use sample::{Sampler, Settings};

/// The tokens that come in 1000 draws, in their order.
fn tokens(shares: &[f32], settings: Settings) -> Vec<u32> {
    let row: Vec<f32> = shares.iter().map(|share| share.ln()).collect();
    let mut sampler = Sampler::new(Settings { temperature: 1.0, ..settings }).expect("valid settings");
    let mut tokens: Vec<u32> =
        (0..1000).map(|position| sampler.sample(&row, &[], position).expect("a token")).collect();
    tokens.sort_unstable();
    tokens.dedup();
    tokens
}

/// The token that is best after penalties.
fn greedy(row: &[f32], history: &[u32], settings: Settings) -> u32 {
    Sampler::new(settings).expect("valid settings").sample(row, history, 0).expect("a token")
}

const SHARES: [f32; 5] = [0.15, 0.4, 0.05, 0.3, 0.1];

#[test]
fn top_p_leaves_the_shortest_beginning_with_its_share() {
    for (top_p, expected) in [
        (0.3, &[1][..]),
        (0.39, &[1]),
        (0.41, &[1, 3]),
        (0.69, &[1, 3]),
        (0.71, &[0, 1, 3]),
        (0.9, &[0, 1, 3, 4]),
        (0.96, &[0, 1, 2, 3, 4]),
    ] {
        assert_eq!(tokens(&SHARES, Settings { top_p, ..Settings::default() }), expected, "top_p {top_p}");
    }
    // Of equals, the lower ids; a half is reached by exactly two of four.
    assert_eq!(tokens(&[0.25; 4], Settings { top_p: 0.5, ..Settings::default() }), [0, 1]);
}

#[test]
fn min_p_is_a_share_of_the_best() {
    for (min_p, expected) in [(0.12, &[0, 1, 2, 3, 4][..]), (0.2, &[0, 1, 3, 4]), (0.5, &[1, 3]), (0.8, &[1])]
    {
        assert_eq!(tokens(&SHARES, Settings { min_p, ..Settings::default() }), expected, "min_p {min_p}");
    }
}

#[test]
fn typical_p_takes_the_tokens_with_surprise_nearest_to_the_entropy() {
    // The entropy is 1.391; surprises are 1.897, 0.916, 2.996, 1.204, 2.303: by distance 3, 1, 0, 4, 2.
    for (typical_p, expected) in [
        (0.0, &[3][..]),
        (0.29, &[3]),
        (0.6, &[1, 3]),
        (0.8, &[0, 1, 3]),
        (0.9, &[0, 1, 3, 4]),
        (0.98, &[0, 1, 2, 3, 4]),
    ] {
        let settings = Settings { typical_p, ..Settings::default() };
        assert_eq!(tokens(&SHARES, settings), expected, "typical_p {typical_p}");
    }
}

#[test]
fn xtc_leaves_the_last_of_the_top_choices_and_all_below() {
    let xtc = |xtc_threshold| Settings { xtc_probability: 1.0, xtc_threshold, ..Settings::default() };
    assert_eq!(tokens(&SHARES, xtc(0.12)), [0, 2, 4]);
    assert_eq!(tokens(&SHARES, xtc(0.25)), [0, 2, 3, 4]);
    // One choice is none to exclude.
    assert_eq!(tokens(&SHARES, xtc(0.35)), [0, 1, 2, 3, 4]);
    assert_eq!(tokens(&SHARES, xtc(0.9)), [0, 1, 2, 3, 4]);
    // Of equals, sorted by id, the last stays.
    assert_eq!(tokens(&[0.25; 4], xtc(0.1)), [3]);
}

#[test]
fn xtc_acts_as_often_as_it_should() {
    let settings = Settings { temperature: 1.0, xtc_probability: 0.3, ..Settings::default() };
    let mut sampler = Sampler::new(settings).unwrap();
    // The first token is left out whenever XTC acts, and as good as certain otherwise.
    let row = [10.0, 9.0, -20.0];
    let best = (0..10_000).filter(|&position| sampler.sample(&row, &[], position) == Ok(0)).count();
    // 70% of e / (e + 1), which is 5117, with a standard deviation of 50.
    assert!(best.abs_diff(5117) < 250, "{best}");
}

#[test]
fn steps_work_on_what_the_one_before_left() {
    // Of the best two, the first has 4/7 of the probability.
    assert_eq!(tokens(&SHARES, Settings { top_k: 2, top_p: 0.5, ..Settings::default() }), [1]);
    assert_eq!(tokens(&SHARES, Settings { top_p: 0.5, ..Settings::default() }), [1, 3]);
    // XTC comes after min_p, which left two choices.
    let settings = Settings { min_p: 0.5, xtc_probability: 1.0, xtc_threshold: 0.1, ..Settings::default() };
    assert_eq!(tokens(&SHARES, settings), [3]);
}

#[test]
fn repeat_penalty_makes_tokens_less_likely_whatever_their_sign() {
    let twice = || Settings { repeat_penalty: 2.0, ..Settings::default() };
    assert_eq!(greedy(&[4.0, 2.1], &[0], twice()), 1);
    assert_eq!(greedy(&[4.0, 1.9], &[0], twice()), 0);
    assert_eq!(greedy(&[-2.0, -3.9], &[0], twice()), 1);
    assert_eq!(greedy(&[-2.0, -4.1], &[0, 0, 0], twice()), 0);
}

#[test]
fn presence_counts_once_and_frequency_each_time() {
    let history = [0, 0, 0, 2];
    let presence = || Settings { presence_penalty: 1.0, ..Settings::default() };
    assert_eq!(greedy(&[5.0, 4.1, 5.0], &history, presence()), 1);
    assert_eq!(greedy(&[5.0, 3.9, 4.0], &history, presence()), 0);
    let frequency = || Settings { frequency_penalty: 1.0, ..Settings::default() };
    assert_eq!(greedy(&[5.0, 2.1, 0.0], &history, frequency()), 1);
    assert_eq!(greedy(&[5.0, 1.9, 0.0], &history, frequency()), 0);
    assert_eq!(greedy(&[5.0, 1.9, 3.5], &history, frequency()), 2);
}

#[test]
fn dry_penalizes_what_would_go_on_with_a_repetition() {
    // After 5 6 7 came 0; now 5 6 7 stand again: three tokens, one more than allowed.
    let history = [5, 6, 7, 0, 9, 5, 6, 7];
    let dry = || Settings { dry_multiplier: 1.0, dry_base: 2.0, ..Settings::default() };
    let row = |other: f32| {
        let mut row = [-9.0; 10];
        (row[0], row[1]) = (5.0, other);
        row
    };
    assert_eq!(greedy(&row(3.1), &history, dry()), 1);
    assert_eq!(greedy(&row(2.9), &history, dry()), 0);
    assert_eq!(greedy(&row(4.9), &history, Settings { dry_allowed_length: 4, ..dry() }), 0);
    // Too short a look back to see the first time.
    assert_eq!(greedy(&row(4.9), &history, Settings { dry_penalty_last_n: 4, ..dry() }), 0);
    assert_eq!(greedy(&row(4.9), &history, Settings { dry_penalty_last_n: 0, ..dry() }), 0);
    let broken = |breaker: &[u32]| Settings { dry_sequence_breakers: vec![breaker.to_vec()], ..dry() };
    // Two tokens are left after the breaker: no more than allowed, which costs the multiplier.
    assert_eq!(greedy(&row(4.1), &history, broken(&[5])), 1);
    assert_eq!(greedy(&row(3.9), &history, broken(&[5])), 0);
    assert_eq!(greedy(&row(4.9), &history, broken(&[5, 6])), 0);
    // A breaker is never penalized.
    assert_eq!(greedy(&row(4.9), &history, broken(&[0])), 0);
}

#[test]
fn the_filtered_tokens_are_the_same_on_every_machine() {
    let row: Vec<f32> = (0..1000).map(|id| ((id * 7919) % 1000) as f32 / 150.0).collect();
    let history: Vec<u32> = (0..100).map(|i| i * 37 % 50).collect();
    let settings = Settings {
        temperature: 0.9,
        seed: 42,
        typical_p: 0.98,
        top_p: 0.9,
        min_p: 0.01,
        repeat_penalty: 1.2,
        dry_multiplier: 0.8,
        xtc_probability: 0.5,
        xtc_threshold: 0.004,
        ..Settings::default()
    };
    let mut sampler = Sampler::new(settings).unwrap();
    let text: Vec<u32> = (0..10).map(|position| sampler.sample(&row, &history, position).unwrap()).collect();
    assert_eq!(text, [704, 348, 953, 484, 77, 681, 78, 201, 730, 139]);
}
