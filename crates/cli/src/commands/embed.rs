//! `minfer embed`.

use std::fmt::Write;
use std::io::{self, IsTerminal, Read};

use anyhow::{Context, Result, bail};
use minfer::{EmbedOptions, Embedder, Embedding, Model, SessionOptions};
use serde_json::{Value as Json, json};

use super::{load, pool, print_json, print_text, session_options, tell_verified, write_graph};
use crate::args::{EmbedArgs, EngineArgs, MachineArgs};

pub fn run(args: EmbedArgs, machine: &MachineArgs) -> Result<()> {
    let texts = texts(&args)?;
    let model = load(&args.model, &args.engine.load)?;
    let tokens: Vec<Vec<u32>> =
        texts.iter().map(|text| Ok(model.tokenize_text(text)?)).collect::<Result<_>>()?;
    let longest = tokens.iter().map(Vec::len).max().unwrap_or(0);
    // No more positions than the longest text has: each text of a batch has a context of its own.
    let needed = longest.clamp(1, model.config().n_ctx_train);
    let engine = EngineArgs { ctx_size: args.engine.ctx_size.or(Some(needed)), ..args.engine.clone() };
    let session = session_options(&model, &engine, machine, needed)?;
    let options = EmbedOptions {
        pooling: args.pooling,
        normalize: args.embd_normalize,
        dimensions: args.dimensions,
        session: SessionOptions { n_seq: args.parallel.min(tokens.len().max(1)), ..session },
    };
    write_graph(&model, &engine, &options.session_options(&model)?)?;
    let mut embedder = Embedder::new(model.clone(), pool(machine), &options)?;
    tell_verified(embedder.session());
    let embeddings = embedder.embed_tokens(&tokens)?;
    if engine.json {
        return print_json(&to_json(&model, &embeddings));
    }
    let mut out = String::new();
    for embedding in &embeddings {
        for (i, value) in embedding.values.iter().enumerate() {
            write!(out, "{}{value}", if i > 0 { " " } else { "" })?;
        }
        out.push('\n');
    }
    print_text(&out)
}

/// From the arguments, the file or standard input, in that order. What ends a line is no part of its text.
fn texts(args: &EmbedArgs) -> Result<Vec<String>> {
    if !args.text.is_empty() {
        return Ok(args.text.clone());
    }
    let lines = |text: String| text.lines().map(str::to_owned).collect();
    if let Some(path) = &args.file {
        let text = std::fs::read_to_string(path);
        return Ok(lines(text.with_context(|| format!("cannot read {}", path.display()))?));
    }
    if io::stdin().is_terminal() {
        bail!("there is no text: give texts as arguments, or one a line with -f or on standard input");
    }
    let mut text = String::new();
    io::stdin().read_to_string(&mut text).context("cannot read standard input as text")?;
    Ok(lines(text))
}

/// The form of OpenAI's interface.
fn to_json(model: &Model, embeddings: &[Embedding]) -> Json {
    let data: Vec<Json> = embeddings
        .iter()
        .enumerate()
        .map(|(index, e)| json!({"object": "embedding", "index": index, "embedding": e.values}))
        .collect();
    let tokens: usize = embeddings.iter().map(|e| e.tokens).sum();
    json!({
        "object": "list",
        "data": data,
        "model": model.name(),
        "usage": {"prompt_tokens": tokens, "total_tokens": tokens},
    })
}
