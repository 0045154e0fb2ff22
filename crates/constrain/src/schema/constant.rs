//! Values that a schema names: of `enum`, of `const`, of bounds.

use serde_json::{Number, Value as Json};

use super::pointer::child;
use crate::ConstrainError;

/// Whole numbers up to this one have an exact `f64`, in which the engine computes.
pub(super) const EXACT: f64 = 9_007_199_254_740_992.0;

/// Digits with which a number can be written out and compared digit by digit.
const DIGITS: usize = 24;

/// Refuses values of which the engine would enforce a neighbour.
pub(super) fn check(value: &Json, at: &str, keyword: &str) -> Result<(), ConstrainError> {
    match value {
        Json::Null | Json::Bool(_) => Ok(()),
        Json::Number(found) => number(found, at, keyword).map(|_| ()),
        Json::String(text) => match text.chars().find(|c| is_unwritten(*c)) {
            None => Ok(()),
            Some(c) => Err(unsupported(
                at,
                keyword,
                format!("no output has the control character U+{:04X}", c as u32),
            )),
        },
        Json::Array(items) => items
            .iter()
            .enumerate()
            .try_for_each(|(i, item)| check(item, &child(at, &i.to_string()), keyword)),
        Json::Object(members) => {
            members.iter().try_for_each(|(name, member)| check(member, &child(at, name), keyword))
        }
    }
}

/// A number of which the engine has an exact copy.
pub(super) fn number(found: &Number, at: &str, keyword: &str) -> Result<f64, ConstrainError> {
    let value = found.as_f64().filter(|value| value.abs() <= EXACT && format!("{value}").len() <= DIGITS);
    // A whole number beyond 2^53 rounds to one that is in range.
    let is_exact = |value: &f64| match (found.as_i64(), found.as_u64()) {
        (Some(whole), _) => whole.unsigned_abs() <= EXACT as u64 && whole as f64 == *value,
        (None, Some(whole)) => whole <= EXACT as u64,
        (None, None) => true,
    };
    value.filter(is_exact).ok_or_else(|| {
        unsupported(at, keyword, format!("{found} is not a number of at most 2^53 and {DIGITS} digits"))
    })
}

/// Control characters without a short escape: outputs have none.
fn is_unwritten(c: char) -> bool {
    c.is_ascii_control() && !matches!(c, '\n' | '\r' | '\t' | '\x08' | '\x0c')
}

/// The error of a keyword at a pointer.
pub(super) fn unsupported(at: &str, keyword: &str, why: impl Into<String>) -> ConstrainError {
    ConstrainError::Unsupported { pointer: at.to_owned(), keyword: keyword.to_owned(), why: why.into() }
}
