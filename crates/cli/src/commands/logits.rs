//! `minfer logits`.

use std::fmt::Write;

use anyhow::{Context, Result};
use minfer::SessionOptions;
use serde_json::json;

use super::{JSON_VERSION, load, print_json, print_text, session, session_options};
use crate::args::{LogitsArgs, MachineArgs};

pub fn run(args: LogitsArgs, machine: &MachineArgs) -> Result<()> {
    let model = load(&args.model, &args.engine.load)?;
    let tokens = match (&args.tokens, &args.prompt) {
        (Some(ids), _) => {
            ids.iter().enumerate().map(|(i, id)| token_id(i, *id)).collect::<Result<Vec<u32>>>()?
        }
        (None, prompt) => model.tokenize(prompt.as_deref().unwrap_or_default(), true)?,
    };
    let options = session_options(&model, &args.engine, machine, tokens.len())?;
    let options = SessionOptions { n_outputs: options.n_ubatch, ..options };
    let mut session = session(&model, &args.engine, machine, &options)?;
    let score = session.score(&tokens, args.top)?;
    if args.engine.json {
        let top: Vec<_> = score.top.iter().map(|(id, logit)| json!([id, logit])).collect();
        let hash = format!("{:016x}", score.hash);
        let nll_sum = score.nll_sum;
        return print_json(
            &json!({"version": JSON_VERSION, "tokens": tokens, "nll_sum": nll_sum, "top": top, "hash": hash}),
        );
    }
    let mut out =
        format!("{} tokens, nll sum {:.5}, hash {:016x}\n", tokens.len(), score.nll_sum, score.hash);
    for (id, logit) in &score.top {
        let text =
            if (*id as usize) < model.tokenizer().n_vocab() { model.tokenizer().token_text(*id) } else { "" };
        writeln!(out, "{id:>8} {logit:>10.5}  {text}")?;
    }
    print_text(&out)
}

fn token_id(index: usize, id: i64) -> Result<u32> {
    u32::try_from(id).ok().with_context(|| format!("--tokens: number {index} is {id}, which is no token id"))
}
