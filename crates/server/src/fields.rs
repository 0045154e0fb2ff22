//! The fields of a JSON object, each taken once with its type; what is left over is told.

use std::ops::RangeInclusive;

use serde_json::{Map, Value as Json};

use crate::ApiError;
use crate::ignored::Ignored;

/// Fields not yet taken. `null` counts as absent.
pub(crate) struct Fields {
    map: Map<String, Json>,
    /// Where the object is, with a dot; empty for the body.
    path: String,
    /// What was left over in objects within.
    ignored: Ignored,
}

impl Fields {
    /// Of a body.
    pub fn of_body(body: &[u8]) -> Result<Fields, ApiError> {
        match serde_json::from_slice(body) {
            Ok(Json::Object(map)) => Ok(Fields { map, path: String::new(), ignored: Ignored::default() }),
            Ok(other) => Err(ApiError::Body(format!("expected a JSON object, found {}", kind(&other)))),
            Err(error) => Err(ApiError::Body(format!("not JSON: {error}"))),
        }
    }

    /// Of an object in a field.
    pub fn of(value: Json, path: &str) -> Result<Fields, ApiError> {
        match value {
            Json::Object(map) => Ok(Fields { map, path: format!("{path}."), ignored: Ignored::default() }),
            other => Err(wrong(path, "an object", &other)),
        }
    }

    /// The whole name of a field.
    pub fn name(&self, field: &str) -> String {
        format!("{}{field}", self.path)
    }

    pub fn take(&mut self, field: &str) -> Option<Json> {
        #[cfg(test)]
        self.ignored.asked.insert(self.name(field));
        self.map.shift_remove(field).filter(|value| !value.is_null())
    }

    /// A field that is left where it is.
    pub fn peek(&self, field: &str) -> Option<&Json> {
        self.map.get(field).filter(|value| !value.is_null())
    }

    pub fn require(&mut self, field: &str) -> Result<Json, ApiError> {
        self.take(field).ok_or_else(|| ApiError::field(self.name(field), "is missing"))
    }

    pub fn text(&mut self, field: &str) -> Result<Option<String>, ApiError> {
        match self.take(field) {
            None => Ok(None),
            Some(Json::String(text)) => Ok(Some(text)),
            Some(other) => Err(wrong(&self.name(field), "a string", &other)),
        }
    }

    pub fn flag(&mut self, field: &str) -> Result<Option<bool>, ApiError> {
        match self.take(field) {
            None => Ok(None),
            Some(Json::Bool(flag)) => Ok(Some(flag)),
            Some(other) => Err(wrong(&self.name(field), "true or false", &other)),
        }
    }

    pub fn integer(&mut self, field: &str, range: RangeInclusive<i64>) -> Result<Option<i64>, ApiError> {
        let Some(value) = self.take(field) else { return Ok(None) };
        match value.as_i64() {
            Some(n) if range.contains(&n) => Ok(Some(n)),
            _ => {
                let (least, most) = (range.start(), range.end());
                let expected = match *most {
                    i64::MAX => format!("an integer from {least}"),
                    _ => format!("an integer from {least} to {most}"),
                };
                Err(wrong(&self.name(field), &expected, &value))
            }
        }
    }

    /// A count.
    pub fn count(&mut self, field: &str, range: RangeInclusive<i64>) -> Result<Option<usize>, ApiError> {
        Ok(self.integer(field, range)?.map(|n| usize::try_from(n).expect("counts are not negative")))
    }

    pub fn number(&mut self, field: &str) -> Result<Option<f32>, ApiError> {
        let Some(value) = self.take(field) else { return Ok(None) };
        match value.as_f64() {
            Some(number) => Ok(Some(number as f32)),
            None => Err(wrong(&self.name(field), "a number", &value)),
        }
    }

    /// A field that may only say what is done anyway.
    pub fn only(&mut self, field: &str, done: &Json) -> Result<(), ApiError> {
        match self.take(field) {
            Some(other) if !is_same(&other, done) => {
                Err(ApiError::field(self.name(field), format!("is not supported, but for {done}")))
            }
            _ => Ok(()),
        }
    }

    /// A field that is not done.
    pub fn refuse(&mut self, field: &str, why: &str) -> Result<(), ApiError> {
        match self.peek(field) {
            Some(_) => Err(ApiError::field(self.name(field), why)),
            None => Ok(()),
        }
    }

    /// Fields that cannot change an answer.
    pub fn ignore(&mut self, fields: &[&str]) {
        for field in fields {
            self.take(field);
        }
    }

    /// Something within that has no effect.
    pub fn leave_out(&mut self, name: &str) {
        self.ignored.add(name);
    }

    /// An object within is done with: what is left over in it is told with what is left over in this one.
    pub fn close(&mut self, inner: Fields) {
        self.ignored.extend(inner.done());
    }

    /// All that are known have been taken; the names of those that are left over, here and within.
    pub fn done(mut self) -> Ignored {
        for (field, value) in &self.map {
            if !value.is_null() {
                self.ignored.add(&self.name(field));
            }
        }
        self.ignored
    }
}

/// Whether values say the same: 1 and 1.0 do.
fn is_same(a: &Json, b: &Json) -> bool {
    a == b || a.as_f64().is_some_and(|a| b.as_f64() == Some(a))
}

/// A value of the wrong type or out of its range.
pub(crate) fn wrong(field: &str, expected: &str, found: &Json) -> ApiError {
    let found = match found {
        Json::Number(number) => number.to_string(),
        other => kind(other).to_owned(),
    };
    ApiError::field(field, format!("expected {expected}, found {found}"))
}

pub(crate) fn kind(value: &Json) -> &'static str {
    match value {
        Json::Null => "null",
        Json::Bool(_) => "true or false",
        Json::Number(_) => "a number",
        Json::String(_) => "a string",
        Json::Array(_) => "a list",
        Json::Object(_) => "an object",
    }
}
