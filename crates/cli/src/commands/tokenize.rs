//! `minfer tokenize`.

use std::fmt::Write;

use anyhow::Result;
use serde_json::json;

use super::{JSON_VERSION, load, print_json, print_text};
use crate::args::{LoadArgs, TokenizeArgs};

pub fn run(args: TokenizeArgs) -> Result<()> {
    let model = load(&args.model, &LoadArgs::default())?;
    let tokens = model.tokenize(&args.text, !args.no_special)?;
    let piece = |id: &u32| String::from_utf8_lossy(model.tokenizer().piece(*id)).into_owned();
    let pieces: Vec<String> = tokens.iter().map(piece).collect();
    if args.json {
        return print_json(&json!({"version": JSON_VERSION, "tokens": tokens, "pieces": pieces}));
    }
    let mut out = String::new();
    for (id, piece) in tokens.iter().zip(&pieces) {
        writeln!(out, "{id:>8}  {piece:?}")?;
    }
    print_text(&out)
}
