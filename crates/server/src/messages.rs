//! The messages of a chat, as templates read them.

use serde_json::{Map, Value as Json};

use crate::ApiError;
use crate::fields::{Fields, kind, wrong};

/// Takes the messages and writes them as templates expect: content as one text, arguments of calls as objects.
pub(crate) fn read(fields: &mut Fields) -> Result<Json, ApiError> {
    match fields.require("messages")? {
        Json::Array(messages) if messages.is_empty() => Err(ApiError::field("messages", "is empty")),
        Json::Array(messages) => {
            messages.into_iter().enumerate().map(|(i, message)| one(i, message, fields)).collect()
        }
        other => Err(wrong("messages", "a list", &other)),
    }
}

fn one(index: usize, message: Json, fields: &mut Fields) -> Result<Json, ApiError> {
    let field = |name: &str| format!("messages[{index}].{name}");
    let Json::Object(mut message) = message else {
        return Err(wrong(&format!("messages[{index}]"), "an object", &message));
    };
    match message.get_mut("role") {
        Some(Json::String(role)) => plain_role(role),
        None => return Err(ApiError::field(field("role"), "is missing")),
        Some(other) => return Err(wrong(&field("role"), "a string", other)),
    }
    for name in ["audio", "function_call"] {
        if message.get(name).is_some_and(|value| !value.is_null()) {
            return Err(ApiError::field(field(name), "is not supported"));
        }
    }
    let has_calls = calls(&mut message, &field("tool_calls"))?;
    let content = match message.get_mut("content").map(Json::take) {
        None | Some(Json::Null) if has_calls => Json::Null,
        None | Some(Json::Null) => return Err(ApiError::field(field("content"), "is missing")),
        Some(Json::Array(parts)) => text(parts, &["text"], &field("content"), fields)?.into(),
        Some(content @ Json::String(_)) => content,
        Some(other) => return Err(wrong(&field("content"), "a string or a list of parts", &other)),
    };
    message.insert("content".to_owned(), content);
    Ok(message.into())
}

/// The newer name of system messages, which templates do not know.
pub(crate) fn plain_role(role: &mut String) {
    if role == "developer" {
        "system".clone_into(role);
    }
}

/// The text of parts, which have one of these types, a line for each.
pub(crate) fn text(
    parts: Vec<Json>,
    types: &[&str],
    field: &str,
    fields: &mut Fields,
) -> Result<String, ApiError> {
    let mut texts = Vec::with_capacity(parts.len());
    for (index, part) in parts.into_iter().enumerate() {
        let mut part = Fields::of(part, &format!("{field}[{index}]"))?;
        match part.require("type")? {
            Json::String(kind) if types.contains(&kind.as_str()) => {}
            Json::String(kind) => {
                let message = format!("{kind:?} is not supported, but {} is", types.join(" or "));
                return Err(ApiError::field(part.name("type"), message));
            }
            other => return Err(wrong(&part.name("type"), "a string", &other)),
        }
        match part.require("text")? {
            Json::String(text) => texts.push(text),
            other => return Err(wrong(&part.name("text"), "a string", &other)),
        }
        // What an earlier answer told beside its text.
        part.ignore(&["annotations", "logprobs"]);
        fields.close(part);
    }
    Ok(texts.join("\n"))
}

/// Whether there are calls. Their arguments are JSON in a string, and templates read them as objects.
fn calls(message: &mut Map<String, Json>, field: &str) -> Result<bool, ApiError> {
    let calls = match message.get_mut("tool_calls") {
        None | Some(Json::Null) => return Ok(false),
        Some(Json::Array(calls)) => calls,
        Some(other) => return Err(wrong(field, "a list", other)),
    };
    for (index, call) in calls.iter_mut().enumerate() {
        let Some(Json::Object(function)) = call.get_mut("function") else {
            let found = kind(call);
            return Err(ApiError::field(
                format!("{field}[{index}]"),
                format!("expected a call of a function, found {found}"),
            ));
        };
        if let Some(Json::String(text)) = function.get("arguments") {
            let arguments = arguments(text);
            function.insert("arguments".to_owned(), arguments);
        }
    }
    Ok(!calls.is_empty())
}

/// The arguments of a call; what is no JSON object stays text.
pub(crate) fn arguments(text: &str) -> Json {
    match serde_json::from_str(text) {
        Ok(arguments @ Json::Object(_)) => arguments,
        _ => text.into(),
    }
}
