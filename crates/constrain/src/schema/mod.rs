//! Schemas: brought to a form that the grammar engine enforces as a whole, then compiled.

mod budget;
mod constant;
mod disjoint;
mod format;
mod keywords;
mod locate;
mod lower;
mod pattern;
mod pointer;

use llguidance::TokenParser;
use llguidance::api::TopLevelGrammar;
use serde_json::{Value as Json, json};

use crate::{ConstrainError, Vocabulary, compile};

/// Compiles a schema; the error of one that the engine refuses names its smallest part that is refused.
pub(crate) fn compile(vocabulary: &Vocabulary, schema: &Json) -> Result<TokenParser, ConstrainError> {
    let lowered = lower(schema)?;
    attempt(vocabulary, lowered).map_err(|message| {
        let pointer = locate::smallest(vocabulary, schema, &message);
        ConstrainError::Schema { pointer, message }
    })
}

/// The same schema in keywords that the engine enforces, all references in `$defs` of one level, and with the engine's
/// options.
///
/// - White space between values is one space, or a line break and an indentation: a model that writes nothing
///   but white space comes to an end.
/// - Characters in texts have one spelling each, so that no second spelling of a name gets around `properties`.
pub(crate) fn lower(schema: &Json) -> Result<Json, ConstrainError> {
    budget::check(schema)?;
    lower_from(schema, "")
}

fn lower_from(document: &Json, start: &str) -> Result<Json, ConstrainError> {
    let mut lowered = lower::document(document, start)?;
    lowered["x-guidance"] = json!({
        "whitespace_pattern": r"\x20|\r?\n[\x20\x09]{0,40}",
        "json_allowed_escapes": "nrbtf\\\"",
    });
    Ok(lowered)
}

fn attempt(vocabulary: &Vocabulary, lowered: Json) -> Result<TokenParser, String> {
    let mut message = String::new();
    compile::compile(vocabulary, TopLevelGrammar::from_json_schema(lowered), |why| {
        message.clone_from(&why);
        ConstrainError::Grammar(why)
    })
    .map_err(|error| if message.is_empty() { error.to_string() } else { for_people(&message) })
}

/// The engine's message without the names of definitions that are ours, and without its options.
fn for_people(message: &str) -> String {
    let message = message.split("while processing").next().unwrap_or_default().trim();
    if message.starts_with("oneOf constraints") {
        return "the alternatives of oneOf may overlap, which cannot be enforced (anyOf allows it)"
            .to_owned();
    }
    message.to_owned()
}
