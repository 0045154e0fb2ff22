//! An item of an answer.

use serde_json::{Value as Json, json};

use crate::unique;

/// An item while it is written.
pub(super) enum Item {
    Message { id: String, text: String, logprobs: Vec<Json> },
    Call { id: String, call_id: String, name: String, arguments: String },
}

/// How far an item is.
#[derive(Clone, Copy)]
pub(super) enum Status {
    InProgress,
    Completed,
    Incomplete,
}

impl Status {
    fn name(self) -> &'static str {
        match self {
            Status::InProgress => "in_progress",
            Status::Completed => "completed",
            Status::Incomplete => "incomplete",
        }
    }
}

impl Item {
    pub fn message() -> Item {
        Item::Message { id: unique::id("msg_"), text: String::new(), logprobs: Vec::new() }
    }

    pub fn call(call_id: String, name: String) -> Item {
        Item::Call { id: unique::id("fc_"), call_id, name, arguments: String::new() }
    }

    pub fn id(&self) -> &str {
        match self {
            Item::Message { id, .. } | Item::Call { id, .. } => id,
        }
    }

    /// As it is told; a message that has begun has no part yet.
    pub fn to_json(&self, status: Status) -> Json {
        let mut out = match self {
            Item::Message { id, text, logprobs } => {
                let content = match status {
                    Status::InProgress => json!([]),
                    _ => json!([part(text, logprobs)]),
                };
                json!({"id": id, "type": "message", "role": "assistant", "content": content})
            }
            Item::Call { id, call_id, name, arguments } => {
                json!({"id": id, "type": "function_call", "call_id": call_id, "name": name, "arguments": arguments})
            }
        };
        out["status"] = status.name().into();
        out
    }
}

/// The one part of a message.
pub(super) fn part(text: &str, logprobs: &[Json]) -> Json {
    json!({"type": "output_text", "text": text, "annotations": [], "logprobs": logprobs})
}
