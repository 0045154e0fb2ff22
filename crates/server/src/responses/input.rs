//! The items of a request as messages of a chat.

use std::collections::HashSet;

use serde_json::{Value as Json, json};

use crate::ApiError;
use crate::fields::{Fields, wrong};
use crate::messages::{arguments, plain_role, text};

/// What came so far.
#[derive(Default)]
struct Conversation {
    messages: Vec<Json>,
    /// What calls are called.
    calls: HashSet<String>,
}

/// Takes `instructions` and `input`.
pub(super) fn read(fields: &mut Fields) -> Result<Json, ApiError> {
    let mut conversation = Conversation::default();
    let messages = &mut conversation.messages;
    if let Some(instructions) = fields.text("instructions")? {
        messages.push(json!({"role": "system", "content": instructions}));
    }
    match fields.require("input")? {
        Json::String(text) => messages.push(json!({"role": "user", "content": text})),
        Json::Array(items) if items.is_empty() => return Err(ApiError::field("input", "is empty")),
        Json::Array(items) => {
            for (index, item) in items.into_iter().enumerate() {
                one(&format!("input[{index}]"), item, &mut conversation, fields)?;
            }
        }
        other => return Err(wrong("input", "a string or a list of items", &other)),
    }
    Ok(conversation.messages.into())
}

fn one(path: &str, item: Json, to: &mut Conversation, fields: &mut Fields) -> Result<(), ApiError> {
    let mut item = Fields::of(item, path)?;
    let kind = item.text("type")?;
    // What an answer's items have beside what they say.
    item.ignore(&["id", "status", "phase"]);
    match kind.as_deref().unwrap_or("message") {
        "message" => to.messages.push(message(&mut item, fields)?),
        "function_call" => call(&mut item, to)?,
        "function_call_output" => to.messages.push(output(&mut item, &to.calls, fields)?),
        // Of another server: this one makes none, and no template reads them.
        "reasoning" => {
            fields.leave_out(path);
            return Ok(());
        }
        "item_reference" => {
            let message = "\"item_reference\" is not supported: nothing is stored here, send the item itself";
            return Err(ApiError::field(item.name("type"), message));
        }
        other => {
            let message = format!(
                "{other:?} is not supported, but message, function_call and function_call_output are"
            );
            return Err(ApiError::field(item.name("type"), message));
        }
    }
    fields.close(item);
    Ok(())
}

fn message(item: &mut Fields, fields: &mut Fields) -> Result<Json, ApiError> {
    let mut role = required(item, "role")?;
    plain_role(&mut role);
    if !["user", "assistant", "system"].contains(&role.as_str()) {
        let message = format!("expected user, assistant, system or developer, found {role:?}");
        return Err(ApiError::field(item.name("role"), message));
    }
    let content = content(item, "content", fields)?;
    Ok(json!({"role": role, "content": content}))
}

/// A call belongs to the assistant's message before it, if there is one.
fn call(item: &mut Fields, to: &mut Conversation) -> Result<(), ApiError> {
    let (id, name) = (required(item, "call_id")?, required(item, "name")?);
    let arguments = arguments(&required(item, "arguments")?);
    let call = json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments}});
    to.calls.insert(id);
    match to.messages.last_mut() {
        Some(Json::Object(message)) if message["role"] == "assistant" => {
            match message.entry("tool_calls").or_insert_with(|| json!([])) {
                Json::Array(calls) => calls.push(call),
                _ => unreachable!("calls are a list"),
            }
        }
        _ => to.messages.push(json!({"role": "assistant", "content": null, "tool_calls": [call]})),
    }
    Ok(())
}

fn output(item: &mut Fields, calls: &HashSet<String>, fields: &mut Fields) -> Result<Json, ApiError> {
    let id = required(item, "call_id")?;
    if !calls.contains(&id) {
        return Err(ApiError::field(item.name("call_id"), format!("no call {id:?} comes before it")));
    }
    let content = content(item, "output", fields)?;
    Ok(json!({"role": "tool", "tool_call_id": id, "content": content}))
}

fn content(item: &mut Fields, field: &str, fields: &mut Fields) -> Result<String, ApiError> {
    match item.require(field)? {
        Json::String(text) => Ok(text),
        Json::Array(parts) => text(parts, &["input_text", "output_text"], &item.name(field), fields),
        other => Err(wrong(&item.name(field), "a string or a list of parts", &other)),
    }
}

fn required(item: &mut Fields, field: &str) -> Result<String, ApiError> {
    item.text(field)?.ok_or_else(|| ApiError::field(item.name(field), "is missing"))
}
