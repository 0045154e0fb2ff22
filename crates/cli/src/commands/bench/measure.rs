//! One measurement: what it is, and how it is done.

use std::time::Instant;

use anyhow::Result;
use minfer::{Item, Rows, Session};
use serde_json::Value as Json;

use crate::process::measured_memory;

/// What is measured: tokens in one prompt, or one after the other in each of several sequences, after `depth` tokens of
/// context.
#[derive(Clone, Copy)]
pub struct Test {
    pub generate: bool,
    pub tokens: usize,
    pub depth: usize,
    /// Sequences that are decoded together.
    pub sequences: usize,
}

impl Test {
    /// `pp512`, `tg64@2048`, `tg64x4`.
    pub fn name(&self) -> String {
        let kind = if self.generate { "tg" } else { "pp" };
        let together = if self.sequences > 1 { format!("x{}", self.sequences) } else { String::new() };
        let depth = if self.depth > 0 { format!("@{}", self.depth) } else { String::new() };
        format!("{kind}{}{together}{depth}", self.tokens)
    }

    /// Tokens of all sequences.
    pub fn tokens_in_all(&self) -> usize {
        self.tokens * self.sequences
    }
}

/// Any token will do; these are spread over the vocabulary as a text's are.
fn token(position: usize, n_vocab: u32) -> u32 {
    (position as u32 * 37 % 1000 + 10) % n_vocab
}

/// Pages of the file come in and threads wake up.
pub fn warm_up(session: &mut Session, n_vocab: u32) -> Result<()> {
    let prompt = Test { generate: false, tokens: 8.min(session.n_ctx()), depth: 0, sequences: 1 };
    measure(session, &prompt, n_vocab, &mut Json::Null)?;
    measure(session, &Test { generate: true, tokens: 1, ..prompt }, n_vocab, &mut Json::Null)?;
    Ok(())
}

/// Seconds of one fresh run, and the process's memory at its end.
pub fn measure(session: &mut Session, test: &Test, n_vocab: u32, memory: &mut Json) -> Result<f64> {
    let engine = session.engine();
    let tokens: Vec<u32> = (0..test.depth + test.tokens).map(|i| token(i, n_vocab)).collect();
    let (context, measured) = tokens.split_at(test.depth);
    let seqs: Vec<_> = (0..test.sequences).map(|_| engine.create()).collect();
    for seq in seqs.iter().filter(|_| !context.is_empty()) {
        engine.process(&[Item { seq: *seq, tokens: context, rows: Rows::None }], &mut |_, _, _| {})?;
    }
    // A profile is of what is timed.
    let profiled = engine.is_profiling();
    if profiled {
        engine.start_profile();
    }
    let started = Instant::now();
    let batch = if test.generate { 1 } else { measured.len() };
    for tokens in measured.chunks(batch) {
        let items: Vec<_> = seqs.iter().map(|seq| Item { seq: *seq, tokens, rows: Rows::Last }).collect();
        engine.process(&items, &mut |_, _, _| {})?;
    }
    let seconds = started.elapsed().as_secs_f64();
    *memory = measured_memory();
    for seq in seqs {
        engine.remove(seq)?;
    }
    Ok(seconds)
}

pub fn median(all: &[f64]) -> f64 {
    let mut sorted = all.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    if sorted.len() % 2 == 1 { sorted[middle] } else { (sorted[middle - 1] + sorted[middle]) / 2.0 }
}
