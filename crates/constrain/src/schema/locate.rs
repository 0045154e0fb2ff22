//! The part of a schema that the engine refuses.

use serde_json::Value as Json;

use super::{attempt, lower_from, pointer};
use crate::Vocabulary;

/// Parts that are tried; those at the top of a larger schema would cost a compilation each.
const TRIED: usize = 200;

/// Keywords whose value is a schema, a list of schemas, or schemas by name.
const ONE: [&str; 4] = ["items", "additionalProperties", "additionalItems", "propertyNames"];
const LIST: [&str; 4] = ["allOf", "anyOf", "oneOf", "prefixItems"];
const NAMED: [&str; 4] = ["properties", "patternProperties", "$defs", "definitions"];

/// The pointer of the smallest part that is refused for the same reason by itself; the whole schema's if there is none.
pub(super) fn smallest(vocabulary: &Vocabulary, schema: &Json, message: &str) -> String {
    let mut parts = vec![String::new()];
    let mut next = 0;
    while next < parts.len() && parts.len() < TRIED {
        let at = parts[next].clone();
        next += 1;
        let Some(Json::Object(members)) = pointer::resolve(schema, &at) else { continue };
        for (name, value) in members {
            let place = pointer::child(&at, name);
            match value {
                Json::Object(_) if ONE.contains(&name.as_str()) => parts.push(place),
                Json::Array(items) if LIST.contains(&name.as_str()) || name == "items" => {
                    parts.extend((0..items.len()).map(|i| pointer::child(&place, &i.to_string())));
                }
                Json::Object(members) if NAMED.contains(&name.as_str()) => {
                    parts.extend(members.keys().map(|key| pointer::child(&place, key)));
                }
                _ => {}
            }
        }
    }
    // The deepest parts come last, since the list grew level by level.
    let refused = |at: &String| match lower_from(schema, at) {
        Ok(lowered) => attempt(vocabulary, lowered).err().is_some_and(|found| found == message),
        Err(_) => false,
    };
    parts.into_iter().skip(1).take(TRIED).rev().find(refused).unwrap_or_default()
}
