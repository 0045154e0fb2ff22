//! `minfer bench`.

use std::fmt::Write;
use std::time::Instant;

use anyhow::{Result, ensure};
use clap::CommandFactory;
use clap::error::ErrorKind;
use minfer::{Item, Rows, Session};
use serde_json::{Value as Json, json};

use super::{load, plan_json, print_json, print_text, session, session_options};
use crate::args::{BenchArgs, Cli, MachineArgs};
use crate::process::measured_memory;
use crate::progress::Progress;

/// What is measured: tokens in one prompt, or one after the other, after `depth` tokens of context.
#[derive(Clone, Copy)]
struct Test {
    generate: bool,
    tokens: usize,
    depth: usize,
}

impl Test {
    fn name(&self) -> String {
        let kind = if self.generate { "tg" } else { "pp" };
        let depth = if self.depth > 0 { format!("@{}", self.depth) } else { String::new() };
        format!("{kind}{}{depth}", self.tokens)
    }
}

pub fn run(args: BenchArgs, machine: &MachineArgs) -> Result<()> {
    let tests = tests(&args);
    if tests.is_empty() {
        let why = "there is nothing to measure: -p and -n are 0";
        Cli::command().error(ErrorKind::InvalidValue, why).exit();
    }
    let model = load(&args.model, &args.engine.load)?;
    let needed = tests.iter().map(|t| t.depth.saturating_add(t.tokens)).max().unwrap_or(0);
    let options = session_options(&model, &args.engine, machine, needed)?;
    ensure!(
        needed <= options.n_ctx,
        "the longest test needs {needed} positions, the context has {}",
        options.n_ctx
    );
    let mut session = session(&model, &args.engine, machine, &options)?;
    let n_vocab = model.config().n_vocab as u32;
    warm_up(&mut session, n_vocab)?;
    let mut progress = Progress::new("measuring");
    let total = tests.len() as u64 * u64::from(args.repetitions);
    let mut results = Vec::new();
    for (i, test) in tests.iter().enumerate() {
        let (mut all, mut memory) = (Vec::new(), Json::Null);
        for r in 0..args.repetitions {
            progress.set(i as u64 * u64::from(args.repetitions) + u64::from(r), total);
            all.push(measure(&mut session, test, n_vocab, &mut memory)?);
        }
        let planned = plan_json(&session.plan(test.depth + test.tokens)?);
        results.push((test.name(), median(&all), all, json!({"planned": planned, "measured": memory})));
    }
    progress.finish();
    if args.engine.json {
        let row = |(test, tokens_per_s, all, memory): &(String, f64, Vec<f64>, Json)| json!({"test": test, "tokens_per_s": tokens_per_s, "all": all, "memory": memory});
        return print_json(&results.iter().map(row).collect());
    }
    let mut out = String::from("| test | tokens/s | lowest | highest |\n|---|---|---|---|\n");
    for (test, median, all, _) in &results {
        let lowest = all.iter().copied().fold(f64::INFINITY, f64::min);
        let highest = all.iter().copied().fold(0.0, f64::max);
        writeln!(out, "| {test} | {median:.1} | {lowest:.1} | {highest:.1} |")?;
    }
    print_text(&out)
}

fn tests(args: &BenchArgs) -> Vec<Test> {
    let kinds = [(false, &args.n_prompt), (true, &args.n_gen)];
    let mut tests = Vec::new();
    for depth in &args.n_depth {
        for (generate, counts) in kinds {
            let counts = counts.iter().filter(|n| **n > 0);
            tests.extend(counts.map(|tokens| Test { generate, tokens: *tokens, depth: *depth }));
        }
    }
    tests
}

/// Any token will do; these are spread over the vocabulary as a text's are.
fn token(position: usize, n_vocab: u32) -> u32 {
    (position as u32 * 37 % 1000 + 10) % n_vocab
}

/// Pages of the file come in and threads wake up.
fn warm_up(session: &mut Session, n_vocab: u32) -> Result<()> {
    measure(
        session,
        &Test { generate: false, tokens: 8.min(session.n_ctx()), depth: 0 },
        n_vocab,
        &mut Json::Null,
    )?;
    measure(session, &Test { generate: true, tokens: 1, depth: 0 }, n_vocab, &mut Json::Null)?;
    Ok(())
}

/// Tokens a second of one fresh run, and the process's memory at its end.
fn measure(session: &mut Session, test: &Test, n_vocab: u32, memory: &mut Json) -> Result<f64> {
    let engine = session.engine();
    let seq = engine.create();
    let tokens: Vec<u32> = (0..test.depth + test.tokens).map(|i| token(i, n_vocab)).collect();
    let (context, measured) = tokens.split_at(test.depth);
    if !context.is_empty() {
        engine.process(&[Item { seq, tokens: context, rows: Rows::None }], &mut |_, _, _| {})?;
    }
    let started = Instant::now();
    let batch = if test.generate { 1 } else { measured.len() };
    for tokens in measured.chunks(batch) {
        engine.process(&[Item { seq, tokens, rows: Rows::Last }], &mut |_, _, _| {})?;
    }
    let seconds = started.elapsed().as_secs_f64();
    *memory = measured_memory();
    engine.remove(seq)?;
    Ok(test.tokens as f64 / seconds)
}

fn median(all: &[f64]) -> f64 {
    let mut sorted = all.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    if sorted.len() % 2 == 1 { sorted[middle] } else { (sorted[middle - 1] + sorted[middle]) / 2.0 }
}
