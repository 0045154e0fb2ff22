//! `minfer perplexity`.

use anyhow::{Context, Result};
use minfer::SessionOptions;
use serde_json::json;

use super::{JSON_VERSION, load, print_json, print_text, session, session_options};
use crate::args::{EngineArgs, MachineArgs, PerplexityArgs};
use crate::progress::Progress;

/// Tokens of a window without `-c`, as llama.cpp has it.
const WINDOW: usize = 512;
/// Rows of logits at a time: many, since half of all rows are scored.
const HEAD_ROWS: usize = 64;

pub fn run(args: PerplexityArgs, machine: &MachineArgs) -> Result<()> {
    let model = load(&args.model, &args.engine.load)?;
    let path = args.text_file.or(args.file).context("there is no text file")?;
    let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let tokens = model.tokenize(&text, true)?;
    let engine = EngineArgs { ctx_size: args.engine.ctx_size.or(Some(WINDOW)), ..args.engine };
    let options = session_options(&model, &engine, machine, WINDOW)?;
    let options = SessionOptions { head_rows: HEAD_ROWS, n_outputs: options.n_ubatch, ..options };
    let window = options.n_ctx;
    let mut session = session(&model, &engine, machine, &options)?;
    let mut progress = Progress::new("scoring");
    let score = session.perplexity(&tokens, window, &mut |done, windows, _| {
        progress.set(done as u64, windows as u64);
    })?;
    progress.finish();
    if engine.json {
        let (tokens, nll_sum, ppl) = (score.tokens, score.nll_sum, score.value());
        return print_json(
            &json!({"version": JSON_VERSION, "tokens": tokens, "nll_sum": nll_sum, "ppl": ppl}),
        );
    }
    print_text(&format!(
        "perplexity {:.4} over {} tokens (windows of {window})\n",
        score.value(),
        score.tokens
    ))
}
