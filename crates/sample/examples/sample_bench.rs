//! What a choice costs: milliseconds a token for a vocabulary of 262,144, on one core.
//!
//! `cargo run --release -p sample --example sample_bench`

use std::hint::black_box;
use std::time::Instant;

use sample::{Sampler, Settings, logprobs};

const VOCABULARY: usize = 262_144;
const RUNS: u64 = 200;

fn main() {
    let history: Vec<u32> = (0..2048u32).map(|i| i * 7919 % 5000).collect();
    // Spread as in an untrained model; as in a trained one; and a tie of all but one.
    let flat = normal(1.0);
    let mut peaked = normal(2.5);
    (0..20).for_each(|i| peaked[i * 5000] = 18.0 - 0.5 * i as f32);
    let mut tied = vec![0.0; VOCABULARY];
    tied[77] = 12.0;
    println!("least / median ms a token   {:>15} {:>15} {:>15}", "flat", "peaked", "tied");
    for (name, settings) in rows() {
        let mut sampler = Sampler::new(settings).expect("valid settings");
        let [flat, peaked, tied] = [&flat, &peaked, &tied].map(|logits| {
            time(|position| {
                black_box(sampler.sample(black_box(logits), &history, position)).expect("a token");
            })
        });
        println!("{name:<28} {flat:>15} {peaked:>15} {tied:>15}");
    }
    let [flat, peaked, tied] = [&flat, &peaked, &tied].map(|logits| {
        time(|_| {
            black_box(logprobs(black_box(logits), 5000, 5)).expect("probabilities");
        })
    });
    println!("{:<28} {flat:>15} {peaked:>15} {tied:>15}", "logprobs 5, without choice");
}

fn rows() -> Vec<(&'static str, Settings)> {
    let warm = || Settings { temperature: 0.8, seed: 1, ..Settings::default() };
    let bias = (0..300).map(|i| (i * 800, 0.5)).collect();
    vec![
        ("greedy", Settings::default()),
        ("temperature", warm()),
        ("top_p 0.9", Settings { top_p: 0.9, ..warm() }),
        ("min_p 0.05", Settings { min_p: 0.05, ..warm() }),
        ("top_k 40", Settings { top_k: 40, ..warm() }),
        ("top_k 40, top_p 0.9", Settings { top_k: 40, top_p: 0.9, ..warm() }),
        ("repeat_penalty over 1024", Settings { repeat_penalty: 1.1, repeat_last_n: 1024, ..warm() }),
        ("the same, greedy", Settings { repeat_penalty: 1.1, repeat_last_n: 1024, ..Settings::default() }),
        ("logit_bias of 300", Settings { logit_bias: bias, ..warm() }),
        ("typical_p 0.9", Settings { typical_p: 0.9, ..warm() }),
        ("xtc 0.1", Settings { xtc_probability: 1.0, ..warm() }),
        ("dry", Settings { dry_multiplier: 0.8, ..warm() }),
        ("top_k 40, top_p, min_p", Settings { top_k: 40, top_p: 0.95, min_p: 0.05, ..warm() }),
    ]
}

/// The least and the median of [`RUNS`] runs, after one that makes room.
fn time(mut run: impl FnMut(u64)) -> String {
    run(0);
    let mut times: Vec<f64> = (0..RUNS)
        .map(|position| {
            let started = Instant::now();
            run(position);
            started.elapsed().as_secs_f64() * 1e3
        })
        .collect();
    times.sort_by(f64::total_cmp);
    format!("{:.3} / {:.3}", times[0], times[times.len() / 2])
}

/// Numbers with a normal distribution of this width, nearly: each a sum of twelve even ones.
fn normal(width: f32) -> Vec<f32> {
    let mut state = 1u32;
    let mut even = || {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        state as f32 / u32::MAX as f32 - 0.5
    };
    (0..VOCABULARY).map(|_| width * (0..12).map(|_| even()).sum::<f32>()).collect()
}
