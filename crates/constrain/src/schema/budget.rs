//! How large a schema is, before anything is made of it.

use serde_json::Value as Json;

use crate::{ConstrainError, limits};

/// Refuses schemas beyond the limits.
pub(super) fn check(schema: &Json) -> Result<(), ConstrainError> {
    let mut size = Size { values: 0, bytes: 0 };
    size.add(schema, 0)
}

struct Size {
    values: usize,
    bytes: usize,
}

impl Size {
    /// The depth is checked on the way down, so that no input makes the recursion deep.
    fn add(&mut self, value: &Json, depth: usize) -> Result<(), ConstrainError> {
        bound("levels of a schema", depth, limits::SCHEMA_DEPTH)?;
        self.values += 1;
        bound("values in a schema", self.values, limits::SCHEMA_VALUES)?;
        match value {
            Json::String(text) => self.add_bytes(text),
            Json::Array(items) => items.iter().try_for_each(|item| self.add(item, depth + 1)),
            Json::Object(members) => members.iter().try_for_each(|(name, member)| {
                self.add_bytes(name)?;
                self.add(member, depth + 1)
            }),
            Json::Null | Json::Bool(_) | Json::Number(_) => Ok(()),
        }
    }

    fn add_bytes(&mut self, text: &str) -> Result<(), ConstrainError> {
        self.bytes += text.len();
        bound("bytes of names and texts in a schema", self.bytes, limits::SCHEMA_BYTES)
    }
}

/// An error if there is more than is allowed.
pub(super) fn bound(what: &'static str, found: usize, limit: usize) -> Result<(), ConstrainError> {
    if found > limit { Err(ConstrainError::TooLarge { what, found, limit }) } else { Ok(()) }
}
