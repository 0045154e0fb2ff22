//! Grammars that people write: checked, and the schemas in them made safe.

use serde_json::Value as Json;

use crate::{ConstrainError, limits, schema};

/// What begins a schema in a grammar.
const SCHEMA: &str = "%json";

/// The grammar with each schema in it in the form that is enforced as a whole.
pub(crate) fn prepare(grammar: &str) -> Result<String, ConstrainError> {
    if grammar.len() > limits::GRAMMAR_BYTES {
        let (found, limit) = (grammar.len(), limits::GRAMMAR_BYTES);
        return Err(ConstrainError::TooLarge { what: "bytes of a grammar", found, limit });
    }
    if grammar.contains("::=") {
        let message = "this looks like GBNF (`::=`); expected Lark: `start: \"yes\" | \"no\"`";
        return Err(ConstrainError::Grammar(message.to_owned()));
    }
    let (mut depth, mut deepest) = (0usize, 0);
    for byte in grammar.bytes() {
        match byte {
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        deepest = deepest.max(depth);
    }
    if deepest > limits::GRAMMAR_DEPTH {
        let limit = limits::GRAMMAR_DEPTH;
        return Err(ConstrainError::TooLarge {
            what: "levels of brackets in a grammar",
            found: deepest,
            limit,
        });
    }
    embedded(grammar)
}

fn embedded(grammar: &str) -> Result<String, ConstrainError> {
    let mut out = String::with_capacity(grammar.len());
    let mut rest = grammar;
    while let Some(at) = rest.find(SCHEMA) {
        let (before, after) = rest.split_at(at + SCHEMA.len());
        out.push_str(before);
        rest = after;
        let mut values = serde_json::Deserializer::from_str(after).into_iter::<Json>();
        // Where no value follows, the word stands in a text or the grammar is wrong: the engine knows which.
        if let Some(Ok(value)) = values.next() {
            out.push(' ');
            out.push_str(&schema::lower(&value)?.to_string());
            rest = &after[values.byte_offset()..];
        }
    }
    out.push_str(rest);
    Ok(out)
}
