//! `minfer bench`.

mod measure;
mod output;

use anyhow::{Result, ensure};
use clap::CommandFactory;
use clap::error::ErrorKind;
use minfer::{Session, SessionOptions};
use serde_json::{Value as Json, json};

use super::{load, plan_json, pool, print_json, print_text, session, session_options};
use crate::args::{BenchArgs, BenchOutput, Cli, MachineArgs};
use crate::process::large_file_pages;
use crate::progress::Progress;
use measure::{Test, measure, warm_up};
use output::{Limits, Outcome, profile_rows, rows, table, to_json};

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
    let n_seq = tests.iter().map(|t| t.sequences).max().unwrap_or(1);
    let options = SessionOptions { n_seq, ..options };
    let mut session = session(&model, &args.engine, machine, &options)?;
    let n_vocab = model.config().n_vocab as u32;
    let mut limits = if args.limits { limits(machine, &session) } else { Limits::default() };
    warm_up(&mut session, n_vocab)?;
    let mut progress = Progress::new("measuring");
    let total = tests.len() as u64 * u64::from(args.repetitions);
    let mut outcomes = Vec::new();
    for (i, test) in tests.into_iter().enumerate() {
        let (mut all, mut memory) = (Vec::new(), Json::Null);
        for r in 0..args.repetitions {
            progress.set(i as u64 * u64::from(args.repetitions) + u64::from(r), total);
            let seconds = measure(&mut session, &test, n_vocab, &mut memory)?;
            all.push(test.tokens_in_all() as f64 / seconds);
        }
        let planned = plan_json(&session.plan(test.depth + test.tokens)?);
        let memory = json!({"planned": planned, "measured": memory});
        let profile = (args.profile || args.limits).then(|| {
            session.engine().start_profile();
            measure(&mut session, &test, n_vocab, &mut Json::Null).map(|_| session.engine().end_profile())
        });
        outcomes.push(Outcome { test, all, memory, profile: profile.transpose()? });
    }
    progress.finish();
    if args.limits {
        // Neighbours on the machine come and go: what it gave before or after, it can give.
        limits = limits.or_better(self::limits(machine, &session));
    }
    if args.engine.json || args.output == BenchOutput::Json {
        return print_json(&to_json(&outcomes, &limits));
    }
    print_text(&for_people(&args, &outcomes, &limits))
}

fn limits(machine: &MachineArgs, session: &Session) -> Limits {
    let pool = pool(machine);
    Limits {
        bandwidth: minfer::read_bandwidth(&pool),
        int8: minfer::int8_peak(&pool, session.isa()),
        large_file_pages: large_file_pages(),
    }
}

fn for_people(args: &BenchArgs, outcomes: &[Outcome], limits: &Limits) -> String {
    let mut out = table(&rows(outcomes, limits), args.output);
    if args.output == BenchOutput::Csv {
        return out;
    }
    if let Some(bandwidth) = limits.bandwidth {
        let int8 = limits.int8.map_or_else(String::new, |int8| format!(", {:.0} Gop/s of int8", int8 / 1e9));
        out.push_str(&format!("\nthis machine: {:.1} GB/s read{int8}\n", bandwidth / 1e9));
    }
    if let Some(part) = limits.large_file_pages {
        out.push_str(&format!("the file in memory: {:.0} % on large pages\n", 100.0 * part));
    }
    for outcome in outcomes.iter().filter(|_| args.profile) {
        if let Some(profile) = &outcome.profile {
            out.push_str(&format!("\n{}, one run, each operation alone:\n\n", outcome.test.name()));
            out.push_str(&table(&profile_rows(profile), args.output));
        }
    }
    out
}

/// Prompts at each depth, then answers at each depth for each number of sequences.
fn tests(args: &BenchArgs) -> Vec<Test> {
    let mut tests = Vec::new();
    for depth in &args.n_depth {
        let test = |generate, tokens, sequences| Test { generate, tokens, depth: *depth, sequences };
        tests.extend(args.n_prompt.iter().filter(|n| **n > 0).map(|n| test(false, *n, 1)));
        for tokens in args.n_gen.iter().filter(|n| **n > 0) {
            tests.extend(args.batch.iter().map(|sequences| test(true, *tokens, *sequences)));
        }
    }
    tests
}
