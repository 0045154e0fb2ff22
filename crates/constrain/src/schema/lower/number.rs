//! Numbers as every reader takes them: without exponents, and not too long.

use serde_json::{Value as Json, json};

use super::part::Part;
use crate::ConstrainError;
use crate::schema::constant;
use crate::schema::keywords::TYPES;
use crate::schema::pointer::child;

/// Whole bounds below this one are moved by the first of the steps, others by the second: both are many times what a
/// number of that size can be told apart by.
const SMALL: f64 = 1e6;
const STEPS: [f64; 2] = [1e-9, 1e-3];
const LARGE: f64 = 1e12;

impl Part<'_, '_> {
    /// Where a whole number is left out and the other bound lies before the next one, the engine lets the whole number
    /// itself through. So such a bound is moved inwards, a little.
    pub(super) fn move_whole_bounds(&mut self, types: Option<&[&str]>) -> Result<(), ConstrainError> {
        if types.is_some_and(|types| !types.contains(&"number")) {
            return Ok(());
        }
        for (name, inwards) in [("exclusiveMinimum", 1.0), ("exclusiveMaximum", -1.0)] {
            let Some(bound) = self.own.get(name).and_then(Json::as_f64).filter(|bound| bound.fract() == 0.0)
            else {
                continue;
            };
            if bound.abs() >= LARGE {
                let why = format!("{bound} is not below 10^12 (integers have no such limit)");
                return Err(constant::unsupported(&child(self.at, name), name, why));
            }
            let step = STEPS[usize::from(bound.abs() >= SMALL)];
            self.own.insert(name.to_owned(), json!(bound + inwards * step));
        }
        Ok(())
    }

    /// Readers round numbers of more than 15 digits, and what was a multiple is none any more.
    pub(super) fn bound_multiples(&mut self) {
        let Some(unit) = self.own.get("multipleOf").and_then(Json::as_f64) else { return };
        let most = if unit.fract() == 0.0 { 999_999_999_999_999i64 } else { 999_999_999_999 };
        for (inclusive, exclusive, bound) in
            [("minimum", "exclusiveMinimum", -most), ("maximum", "exclusiveMaximum", most)]
        {
            if !self.own.contains_key(exclusive) {
                self.own.entry(inclusive).or_insert_with(|| json!(bound));
            }
        }
    }

    /// Numbers with a bound are written without exponents, which readers take for infinity or refuse. Where several
    /// schemas are for one number, alternatives as in [`Part::signed`] would be joined with each other.
    pub(super) fn bound_exponents(&mut self) {
        let bounds = ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"];
        if !bounds.iter().any(|bound| self.own.contains_key(*bound)) {
            self.own.insert("minimum".to_owned(), json!(-constant::EXACT));
            self.own.insert("maximum".to_owned(), json!(constant::EXACT));
        }
    }

    /// Numbers at or above 0 and at or below: so said, they are written without exponents.
    pub(super) fn signed(self, types: Option<&[&str]>) -> Json {
        let numbers = ["number", "integer"];
        let others: Vec<&str> =
            types.unwrap_or(&TYPES).iter().copied().filter(|name| !numbers.contains(name)).collect();
        let mut options =
            vec![json!({"type": "number", "minimum": 0}), json!({"type": "number", "maximum": 0})];
        if !others.is_empty() {
            let mut other = self.own;
            other.insert("type".to_owned(), json!(others));
            options.insert(0, Json::Object(other));
        }
        json!({"anyOf": options})
    }
}
