//! A plain sampler that sorts, and the property that [`Sampler`] chooses what it chooses.

use arbtest::arbitrary::{Result, Unstructured};
use arbtest::arbtest;

use crate::weights::Weights;
use crate::{SampleError, Sampler, Settings, TEMPERATURE_MIN, random};

/// A token and its logit.
type Candidate = (u32, f32);

fn sample(settings: &Settings, logits: &[f32], history: &[u32], position: u64) -> Option<u32> {
    let mut logits = logits.to_vec();
    change(&mut logits, settings, history);
    let mut list: Vec<Candidate> =
        (0..).zip(logits).filter(|(_, logit)| *logit > f32::NEG_INFINITY).collect();
    sort(&mut list);
    if settings.temperature < TEMPERATURE_MIN || list.is_empty() {
        return list.first().map(|first| first.0);
    }
    let second = random::uniform_second(settings.seed, position);
    filter(&mut list, settings, second < settings.xtc_probability.into());
    let weights = weights(&list, settings.temperature);
    let mut by_id: Vec<(u32, f64)> = list.iter().map(|token| token.0).zip(weights).collect();
    by_id.sort_by_key(|token| token.0);
    let total: f64 = by_id.iter().map(|token| token.1).sum();
    let threshold = (random::uniform(settings.seed, position) * total).min(total.next_down());
    let mut sum = 0.0;
    let mut above = by_id.iter().filter(|token| {
        sum += token.1;
        sum > threshold
    });
    above.next().map(|token| token.0)
}

fn sort(list: &mut [Candidate]) {
    list.sort_by(|a, b| b.1.partial_cmp(&a.1).unwrap().then(a.0.cmp(&b.0)));
}

fn weights(list: &[Candidate], temperature: f32) -> Vec<f64> {
    let max = list.iter().fold(f32::NEG_INFINITY, |max, token| max.max(token.1));
    let weights = Weights::new(max, temperature);
    list.iter().map(|token| weights.of(token.1).into()).collect()
}

fn change(logits: &mut [f32], settings: &Settings, history: &[u32]) {
    for &(id, bias) in &settings.logit_bias {
        logits[id as usize] += bias;
    }
    let last = |n: i32| if n < 0 { history } else { &history[history.len().saturating_sub(n as usize)..] };
    let seen = last(settings.repeat_last_n);
    for (id, logit) in logits.iter_mut().enumerate() {
        let times = seen.iter().filter(|&&other| other as usize == id).count();
        if times > 0 {
            *logit = if *logit > 0.0 {
                *logit / settings.repeat_penalty
            } else {
                *logit * settings.repeat_penalty
            };
            *logit -= times as f32 * settings.frequency_penalty + settings.presence_penalty;
        }
    }
    if settings.dry_multiplier > 0.0 {
        let seen = last(settings.dry_penalty_last_n);
        for (id, logit) in logits.iter_mut().enumerate() {
            *logit -= dry_penalty(id as u32, seen, settings);
        }
    }
}

/// Tries each length of each repetition.
fn dry_penalty(id: u32, seen: &[u32], settings: &Settings) -> f32 {
    let breakers = &settings.dry_sequence_breakers;
    let mut longest = 0;
    for place in (0..seen.len()).filter(|&place| seen[place] == id && !breakers.contains(&vec![id])) {
        for length in 1..=place {
            let latest = &seen[seen.len() - length..];
            let reaches_across = (0..latest.len()).any(|offset| {
                let end = seen.len() - offset;
                breakers.iter().any(|breaker| seen[..end].ends_with(breaker))
            });
            if seen[..place].ends_with(latest) && !reaches_across {
                longest = longest.max(length as u32);
            }
        }
    }
    if longest < settings.dry_allowed_length.max(1) {
        return 0.0;
    }
    let beyond = longest - settings.dry_allowed_length.max(1);
    (f64::from(settings.dry_multiplier) * f64::from(settings.dry_base).powi(beyond as i32)) as f32
}

fn filter(list: &mut Vec<Candidate>, settings: &Settings, xtc: bool) {
    if settings.top_k > 0 {
        list.truncate(settings.top_k as usize);
    }
    if settings.typical_p < 1.0 {
        let max = list[0].1;
        let weights = weights(list, 1.0);
        let total: f64 = weights.iter().sum();
        let distance = |logit: f32| f64::from(logit - max);
        let sum: f64 = list.iter().zip(&weights).map(|(token, weight)| weight * distance(token.1)).sum();
        let mean = (sum / total) as f32;
        let strange = |token: &Candidate| ((token.1 - max) - mean).abs();
        list.sort_by(|a, b| strange(a).partial_cmp(&strange(b)).unwrap().then(a.0.cmp(&b.0)));
        cut(list, settings.typical_p);
        sort(list);
    }
    if settings.top_p < 1.0 {
        cut(list, settings.top_p);
    }
    if settings.min_p > 0.0 {
        let least = f64::from(list[0].1) + libm::log(settings.min_p.into());
        list.retain(|token| f64::from(token.1) >= least);
    }
    if xtc {
        let weights = weights(list, 1.0);
        let least = weights.iter().sum::<f64>() * f64::from(settings.xtc_threshold);
        let choices = weights.iter().filter(|&&weight| weight >= least).count();
        list.drain(..choices.saturating_sub(1));
    }
}

fn cut(list: &mut Vec<Candidate>, share: f32) {
    let weights = weights(list, 1.0);
    let wanted = weights.iter().sum::<f64>() * f64::from(share);
    let mut sum = 0.0;
    let needed = weights.iter().take_while(|&&weight| {
        sum += weight;
        sum < wanted
    });
    list.truncate(needed.count() + 1);
}

/// Up to `most` logits, spread or close together, with ties and forbidden tokens.
fn logits(u: &mut Unstructured, most: usize) -> Result<Vec<f32>> {
    let count = u.int_in_range(1..=most)?;
    let kind = u.int_in_range(0..=4)?;
    let spread = [0.01f32, 1.0, 5.0, 1e30][u.choose_index(4)?];
    let seed = u.arbitrary()?;
    let mut row: Vec<f32> = (0..count as u64)
        .map(|id| {
            let number = random::uniform(seed, id) as f32 - 0.5;
            match kind {
                0 => number * spread,
                1 => (number * 16.0).round() * spread,
                2 => {
                    if number > 0.3 {
                        f32::NEG_INFINITY
                    } else {
                        number * spread
                    }
                }
                3 => {
                    if number > 0.0 {
                        f32::NEG_INFINITY
                    } else {
                        spread
                    }
                }
                // A few tokens far above many close ones, or all equal.
                _ => {
                    if number > 0.49 {
                        12.0
                    } else {
                        (number * 4.0).round() * spread * 1e-4
                    }
                }
            }
        })
        .collect();
    // As where matrices are padded.
    if u.ratio(1, 4)? {
        row[0] = -1e30;
    }
    Ok(row)
}

fn settings(u: &mut Unstructured, count: usize) -> Result<Settings> {
    const SHARES: [f32; 8] = [0.0, 1e-6, 0.1, 0.5, 0.9, 0.95, 0.999, 1.0];
    let mut settings = Settings { seed: u.arbitrary()?, ..Settings::default() };
    settings.temperature = *u.choose(&[0.0, 0.3, 0.8, 1.0, 2.0, 1e30])?;
    settings.top_k = *u.choose(&[-1, 0, 0, 1, 2, 40, 300, 2000, i32::MAX])?;
    settings.top_p = *u.choose(&SHARES)?;
    settings.typical_p = if u.ratio(1, 3)? { *u.choose(&SHARES)? } else { 1.0 };
    settings.min_p = if u.ratio(1, 3)? { *u.choose(&SHARES)? } else { 0.0 };
    if u.ratio(1, 3)? {
        settings.xtc_probability = *u.choose(&[0.5, 1.0])?;
        settings.xtc_threshold = *u.choose(&[0.0, 1e-5, 0.1, 0.3, 0.5])?;
    }
    if u.ratio(1, 2)? {
        settings.repeat_penalty = *u.choose(&[0.5, 1.0, 1.1])?;
        settings.presence_penalty = *u.choose(&[-0.5, 0.0, 0.25])?;
        settings.frequency_penalty = *u.choose(&[-0.5, 0.0, 0.25])?;
        settings.repeat_last_n = u.int_in_range(-1..=30)?;
    }
    if u.ratio(1, 2)? {
        settings.dry_multiplier = 0.8;
        settings.dry_allowed_length = u.int_in_range(0..=4)?;
        settings.dry_penalty_last_n = u.int_in_range(-1..=30)?;
        for _ in 0..u.int_in_range(0..=6)? {
            let length = u.int_in_range(1..=3)?;
            let breaker = (0..length).map(|_| u.int_in_range(0..=4)).collect::<Result<_>>()?;
            settings.dry_sequence_breakers.push(breaker);
        }
    }
    for _ in 0..u.int_in_range(0..=2)? {
        let bias = *u.choose(&[-1.0, 0.5, 3.0, f32::NEG_INFINITY])?;
        settings.logit_bias.push((u.int_in_range(0..=count as u32 - 1)?, bias));
    }
    Ok(settings)
}

fn check(u: &mut Unstructured, most: usize) -> Result<()> {
    let row = logits(u, most)?;
    let settings = settings(u, row.len())?;
    let history = (0..u.int_in_range(0..=40)?).map(|_| u.int_in_range(0..=4)).collect::<Result<Vec<_>>>()?;
    // Used before for other rows, as in an answer.
    let mut sampler = Sampler::new(settings.clone()).unwrap();
    let other: Vec<f32> = row.iter().rev().copied().collect();
    let _ = sampler.sample(&other, &history, 0);
    for position in 0..4 {
        let expected = sample(&settings, &row, &history, position);
        let found = sampler.sample(&row, &history, position);
        let expected = expected.ok_or(SampleError::NoTokenPossible { count: row.len() });
        assert_eq!(found, expected, "{settings:?} of {} logits", row.len());
    }
    Ok(())
}

#[test]
fn small_rows_give_the_tokens_of_a_sampler_that_sorts() {
    arbtest(|u| check(u, 20)).budget_ms(1500);
}

#[test]
fn large_rows_give_the_tokens_of_a_sampler_that_sorts() {
    arbtest(|u| check(u, 6000)).budget_ms(1500);
}
