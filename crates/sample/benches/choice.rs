//! What a choice costs, for a vocabulary of 151,936.
//!
//! `cargo bench -p sample --bench choice -- --quick`

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use sample::{Sampler, Settings, argmax, log_softmax_at, top_n};

const VOCABULARY: usize = 151_936;

criterion_group!(choice, choices, probabilities);
criterion_main!(choice);

/// One choice, by the steps that it takes.
fn choices(c: &mut Criterion) {
    let (logits, history) = (logits(), (0..1024).map(|i| i * 7919 % 5000).collect::<Vec<u32>>());
    let warm = || Settings { temperature: 0.8, seed: 1, ..Settings::default() };
    let mut group = c.benchmark_group("choice");
    for (name, settings) in [
        ("greedy", Settings::default()),
        ("temperature", warm()),
        ("top_k 40", Settings { top_k: 40, ..warm() }),
        ("top_p 0.9", Settings { top_p: 0.9, ..warm() }),
        ("min_p 0.05", Settings { min_p: 0.05, ..warm() }),
        ("typical_p 0.9", Settings { typical_p: 0.9, ..warm() }),
        ("top_k, top_p, min_p", Settings { top_k: 40, top_p: 0.95, min_p: 0.05, ..warm() }),
        ("repeat_penalty", Settings { repeat_penalty: 1.1, repeat_last_n: 1024, ..warm() }),
        ("dry", Settings { dry_multiplier: 0.8, ..warm() }),
    ] {
        let mut sampler = Sampler::new(settings).expect("valid settings");
        let mut position = 0;
        group.bench_function(name, |b| {
            b.iter(|| {
                position += 1;
                sampler.sample(black_box(&logits), &history, position).expect("a token")
            });
        });
    }
}

/// What is said about tokens, without a choice.
fn probabilities(c: &mut Criterion) {
    let logits = logits();
    let mut group = c.benchmark_group("probabilities");
    group.bench_function("argmax", |b| b.iter(|| argmax(black_box(&logits))));
    group.bench_function("top_n 20", |b| b.iter(|| top_n(black_box(&logits), 20)));
    group.bench_function("log_softmax_at", |b| b.iter(|| log_softmax_at(black_box(&logits), 5000)));
}

/// A few likely tokens above many others.
fn logits() -> Vec<f32> {
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    let mut uniform = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 40) as f32 / (1 << 24) as f32
    };
    let mut logits: Vec<f32> = (0..VOCABULARY).map(|_| (0..6).map(|_| uniform() * 3.5).sum()).collect();
    (0..20).for_each(|i| logits[i * 5000] = 26.0 - 0.5 * i as f32);
    logits
}
