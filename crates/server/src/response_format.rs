//! What form an answer is to have.

use minfer::{ConstrainError, Constraint, Model};
use serde_json::Value as Json;

use crate::ApiError;
use crate::fields::Fields;

/// The constraint that `response_format` asks for, if it asks for one.
pub(crate) fn read(fields: &mut Fields, model: &Model) -> Result<Option<Constraint>, ApiError> {
    constraint(fields, "response_format", model, |inner| {
        let path = inner.name("json_schema");
        let mut named = Fields::of(inner.require("json_schema")?, &path)?;
        let schema = named.require("schema")?;
        ignore_about(&mut named);
        inner.close(named);
        Ok(schema)
    })
}

/// The same of the `format` in `text`, where the schema lies beside the type.
pub(crate) fn read_flat(text: &mut Fields, model: &Model) -> Result<Option<Constraint>, ApiError> {
    constraint(text, "format", model, |inner| {
        ignore_about(inner);
        inner.require("schema")
    })
}

/// A schema is enforced whether or not it is to be strict.
fn ignore_about(named: &mut Fields) {
    named.ignore(&["name", "description", "strict"]);
}

fn constraint(
    fields: &mut Fields,
    field: &str,
    model: &Model,
    schema: impl FnOnce(&mut Fields) -> Result<Json, ApiError>,
) -> Result<Option<Constraint>, ApiError> {
    let path = fields.name(field);
    let Some(value) = fields.take(field) else { return Ok(None) };
    let mut inner = Fields::of(value, &path)?;
    let kind = inner.text("type")?.unwrap_or_default();
    let constraint = match kind.as_str() {
        "text" => None,
        "json_object" => Some(match inner.take("schema") {
            Some(schema) => of_schema(&schema, model),
            None => model.vocabulary().and_then(|it| Constraint::json_object(&it)),
        }),
        "json_schema" => Some(of_schema(&schema(&mut inner)?, model)),
        _ => {
            let message = format!("expected text, json_object or json_schema, found {kind:?}");
            return Err(ApiError::field(inner.name("type"), message));
        }
    };
    fields.close(inner);
    constraint.transpose().map_err(|error| ApiError::field(path, error.to_string()))
}

fn of_schema(schema: &Json, model: &Model) -> Result<Constraint, ConstrainError> {
    model.vocabulary().and_then(|it| Constraint::json_schema(&it, schema))
}
