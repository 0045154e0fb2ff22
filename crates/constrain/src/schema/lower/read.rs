//! Values of keywords, read with what was expected.

use serde_json::Value as Json;

use crate::ConstrainError;
use crate::schema::keywords::TYPES;
use crate::schema::pointer::child;

pub(super) fn read_types<'a>(value: &'a Json, at: &str) -> Result<Vec<&'a str>, ConstrainError> {
    let expected = || format!("one of {}", TYPES.join(", "));
    let known = |value: &'a Json, at: &str| match value.as_str() {
        Some(name) if TYPES.contains(&name) => Ok(name),
        _ => Err(invalid(at, expected(), value)),
    };
    match value {
        Json::Array(items) => {
            list(value, at)?;
            let mut names = Vec::new();
            for (i, item) in items.iter().enumerate() {
                let name = known(item, &child(at, &i.to_string()))?;
                if !names.contains(&name) {
                    names.push(name);
                }
            }
            Ok(names)
        }
        other => Ok(vec![known(other, at)?]),
    }
}

/// A list with something in it.
pub(super) fn list<'a>(value: &'a Json, at: &str) -> Result<&'a [Json], ConstrainError> {
    match value.as_array() {
        Some(items) if !items.is_empty() => Ok(items),
        _ => Err(invalid(at, "a list that is not empty", value)),
    }
}

/// A whole number from 0 on, written as `3` or `3.0`.
pub(super) fn count(value: &Json, at: &str) -> Result<u64, ConstrainError> {
    let most = f64::from(u32::MAX);
    let whole = value.as_f64().filter(|n| n.fract() == 0.0 && (0.0..=most).contains(n));
    whole.map(|n| n as u64).ok_or_else(|| invalid(at, format!("a whole number from 0 to {most}"), value))
}

pub(super) fn invalid(at: &str, expected: impl Into<String>, found: &Json) -> ConstrainError {
    let mut text = found.to_string();
    if text.chars().count() > 60 {
        text = text.chars().take(57).chain("...".chars()).collect();
    }
    ConstrainError::Invalid { pointer: at.to_owned(), expected: expected.into(), found: text }
}
