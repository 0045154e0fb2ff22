//! What an answer is to obey: read before a model is, compiled for its vocabulary.

use std::path::Path;

use anyhow::{Context, Result};
use minfer::{Constraint, Model};
use serde_json::Value as Json;

use crate::args::ConstraintArgs;

/// What a flag says.
pub enum Source {
    Schema(Json),
    Grammar(String),
    Regex(String),
}

/// What the flags say, if they say anything.
pub fn read(args: &ConstraintArgs) -> Result<Option<Source>> {
    if let Some(given) = &args.json_schema {
        return Ok(Some(Source::Schema(schema(given)?)));
    }
    if let Some(path) = &args.grammar_file {
        return Ok(Some(Source::Grammar(text(path, "--grammar-file")?)));
    }
    Ok(args.regex.clone().map(Source::Regex))
}

impl Source {
    /// For a model.
    pub fn compile(&self, model: &Model) -> Result<Constraint> {
        let vocabulary = model.vocabulary()?;
        match self {
            Source::Schema(schema) => Constraint::json_schema(&vocabulary, schema).context("--json-schema"),
            Source::Grammar(grammar) => Constraint::lark(&vocabulary, grammar).context("--grammar-file"),
            Source::Regex(regex) => Constraint::regex(&vocabulary, regex).context("--regex"),
        }
    }
}

/// A schema that is given as such is an object, `true` or `false`; anything else is the name of a file.
fn schema(given: &str) -> Result<Json> {
    let is_json = given.trim_start().starts_with('{') || matches!(given.trim(), "true" | "false");
    let (text, place) = match is_json {
        true => (given.to_owned(), "--json-schema".to_owned()),
        false => (text(Path::new(given), "--json-schema")?, format!("--json-schema {given}")),
    };
    serde_json::from_str(&text).with_context(|| format!("{place}: not JSON"))
}

fn text(path: &Path, flag: &str) -> Result<String> {
    std::fs::read_to_string(path).with_context(|| format!("{flag}: cannot read {}", path.display()))
}
