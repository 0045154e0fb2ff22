//! `minfer perplexity`.

use anyhow::{Context, Result};
use minfer::SessionOptions;
use serde_json::json;

use super::{load, print_json, print_text, session, session_options};
use crate::args::{MachineArgs, PerplexityArgs};
use crate::progress::Progress;

/// Rows of logits at a time: many, since half of all rows are scored.
const HEAD_ROWS: usize = 64;

pub fn run(args: PerplexityArgs, machine: &MachineArgs) -> Result<()> {
    let model = load(&args.model)?;
    let path = args.text_file.or(args.file).context("there is no text file")?;
    let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let tokens = model.tokenize(&text, true)?;
    let window = args.engine.ctx_size.filter(|n| *n > 0).unwrap_or(512).min(model.config().n_ctx_train);
    let options = session_options(&model, &args.engine, machine, window);
    let options = SessionOptions { n_ctx: window, head_rows: HEAD_ROWS, ..options };
    let mut session = session(&model, &args.engine, machine, &options)?;
    let mut progress = Progress::new("scoring");
    let score = session.perplexity(&tokens, window, &mut |done, windows, _| {
        progress.set(done as u64, windows as u64);
    })?;
    progress.finish();
    if args.engine.json {
        let (tokens, nll_sum, ppl) = (score.tokens, score.nll_sum, score.value());
        return print_json(&json!({"tokens": tokens, "nll_sum": nll_sum, "ppl": ppl}));
    }
    print_text(&format!(
        "perplexity {:.4} over {} tokens (windows of {window})\n",
        score.value(),
        score.tokens
    ))
}
