//! Numbers as every reader takes them: without exponents, and not too long.

use serde_json::{Value as Json, json};

use super::part::Part;
use crate::schema::constant;
use crate::schema::keywords::TYPES;

impl Part<'_, '_> {
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
