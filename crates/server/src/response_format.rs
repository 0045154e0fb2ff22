//! What form an answer is to have.

use minfer::{Constraint, Model};
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
        "json_object" => Some(model.vocabulary().and_then(|it| Constraint::json_object(&it))),
        "json_schema" => {
            let schema = schema(inner.require("json_schema")?)?;
            Some(model.vocabulary().and_then(|it| Constraint::json_schema(&it, &schema)))
        }
        _ => {
            let message = format!("expected text, json_object or json_schema, found {kind:?}");
            return Err(ApiError::field("response_format.type", message));
        }
    };
    inner.done()?;
    constraint.transpose().map_err(|error| ApiError::field(FIELD, error.to_string()))
}

/// The schema in `json_schema`; it is enforced whether or not it is to be strict.
fn schema(value: Json) -> Result<Json, ApiError> {
    let mut inner = Fields::of(value, "response_format.json_schema")?;
    let schema = inner.require("schema")?;
    inner.ignore(&["name", "description", "strict"]);
    inner.done()?;
    Ok(schema)
}
