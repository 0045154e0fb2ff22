//! What form an answer is to have.

use minfer::{ConstrainError, Constraint, Model};
use serde_json::Value as Json;

use crate::ApiError;
use crate::fields::Fields;

/// The constraint that `response_format` asks for, if it asks for one.
pub(crate) fn read(fields: &mut Fields, model: &Model) -> Result<Option<Constraint>, ApiError> {
    const FIELD: &str = "response_format";
    let Some(value) = fields.take(FIELD) else { return Ok(None) };
    let mut inner = Fields::of(value, FIELD)?;
    let kind = inner.text("type")?.unwrap_or_default();
    let constraint = match kind.as_str() {
        "text" => None,
        "json_object" => Some(match inner.take("schema") {
            Some(schema) => of_schema(&schema, model),
            None => model.vocabulary().and_then(|it| Constraint::json_object(&it)),
        }),
        "json_schema" => {
            // It is enforced whether or not it is to be strict.
            let mut named = Fields::of(inner.require("json_schema")?, "response_format.json_schema")?;
            let schema = named.require("schema")?;
            named.ignore(&["name", "description", "strict"]);
            inner.close(named);
            Some(of_schema(&schema, model))
        }
        _ => {
            let message = format!("expected text, json_object or json_schema, found {kind:?}");
            return Err(ApiError::field("response_format.type", message));
        }
    };
    fields.close(inner);
    constraint.transpose().map_err(|error| ApiError::field(FIELD, error.to_string()))
}

fn of_schema(schema: &Json, model: &Model) -> Result<Constraint, ConstrainError> {
    model.vocabulary().and_then(|it| Constraint::json_schema(&it, schema))
}
