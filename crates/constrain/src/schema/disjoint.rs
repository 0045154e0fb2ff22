//! Whether two schemas have no value in common, as far as their own words show.
//!
//! What is compiled is narrower than what was asked for (a format means a string, a pattern what all validators agree on),
//! and two narrowed alternatives may be apart where the ones that were written overlap.

use serde_json::Value as Json;

use super::pointer::{of_reference, resolve};

/// References that are followed.
const REFERENCES: usize = 16;

/// True if types, values, or the values of a member that both require, are apart.
pub(super) fn are_disjoint(root: &Json, a: &Json, b: &Json) -> bool {
    let (Some(a), Some(b)) = (target(root, a), target(root, b)) else { return false };
    if let (Some(a), Some(b)) = (types(a), types(b))
        && a.iter().all(|a| b.iter().all(|b| !same_type(a, b)))
    {
        return true;
    }
    if values(a).zip(values(b)).is_some_and(|(a, b)| are_apart(&a, &b)) {
        return true;
    }
    let is_object = |schema: &Json| schema["type"] == "object";
    let required = |schema: &Json, name: &str| {
        schema["required"].as_array().is_some_and(|names| names.iter().any(|n| n == name))
    };
    let Some(members) = a["properties"].as_object() else { return false };
    is_object(a)
        && is_object(b)
        && members.iter().any(|(name, of_a)| {
            let of_b = &b["properties"][name];
            let apart = values(of_a).zip(values(of_b)).is_some_and(|(a, b)| are_apart(&a, &b));
            apart && required(a, name) && required(b, name)
        })
}

/// The schema that a chain of references leads to.
fn target<'a>(root: &'a Json, mut schema: &'a Json) -> Option<&'a Json> {
    for _ in 0..REFERENCES {
        match schema.get("$ref") {
            None => return Some(schema),
            Some(reference) => schema = resolve(root, &of_reference(reference.as_str()?)?)?,
        }
    }
    None
}

fn types(schema: &Json) -> Option<Vec<&str>> {
    match &schema["type"] {
        Json::String(name) => Some(vec![name]),
        Json::Array(names) => names.iter().map(Json::as_str).collect(),
        _ => None,
    }
}

fn same_type(a: &str, b: &str) -> bool {
    let general = |name| if name == "integer" { "number" } else { name };
    general(a) == general(b)
}

fn values(schema: &Json) -> Option<Vec<&Json>> {
    match (schema.get("const"), schema.get("enum")) {
        (Some(value), _) => Some(vec![value]),
        (None, Some(Json::Array(values))) => Some(values.iter().collect()),
        _ => None,
    }
}

/// Strings, booleans and null compare by what is written; of others it is not said.
fn are_apart(a: &[&Json], b: &[&Json]) -> bool {
    let is_plain = |value: &&Json| value.is_string() || value.is_boolean() || value.is_null();
    a.iter().chain(b).all(is_plain) && a.iter().all(|a| !b.contains(a))
}
