//! `POST /v1/responses`.
//!
//! `input` makes messages of the items of a request, `item` is one item of an answer, and `told` tells of them.

mod input;
mod item;
mod told;

use std::sync::Arc;

use minfer::{Constraint, Model};
use serde_json::{Value as Json, json};

use crate::answer::Plan;
use crate::common::{Common, TOP_MAX};
use crate::fields::{Fields, wrong};
use crate::prompt::{self, Names};
use crate::server::unix_seconds;
use crate::tool_use::{Style, ToolUse};
use crate::{ApiError, Server, response_format, unique};

use told::Told;

const NAMES: Names = Names { messages: "input", format: "text.format" };
/// What is told of tokens only if it is asked for.
const LOGPROBS: &str = "message.output_text.logprobs";
const NOT_STORED: &str = "is not supported: nothing is stored here, the whole conversation comes in input";

/// What is not done, or is called something else in this form.
const REFUSED: [(&str, &str); 13] = [
    ("previous_response_id", NOT_STORED),
    ("conversation", NOT_STORED),
    ("prompt", "is not supported: no templates are stored here"),
    ("access_programs", "is not supported"),
    ("background_options", "is not supported"),
    ("context_management", "is not supported"),
    ("image", "is not supported"),
    ("moderation", "is not supported"),
    ("messages", "is input in this form"),
    ("max_tokens", "is max_output_tokens in this form"),
    ("max_completion_tokens", "is max_output_tokens in this form"),
    ("response_format", "is text.format in this form"),
    ("logprobs", "is \"message.output_text.logprobs\" in include in this form"),
];

pub(crate) fn read(bytes: &[u8], server: &Arc<Server>) -> Result<Plan, ApiError> {
    let model = server.engine.model();
    let mut fields = Fields::of_body(bytes)?;
    let mut response = frame(&fields, server);
    limits(&mut fields)?;
    let Common { stream, mut options, .. } = Common::read(&mut fields, server)?;
    options.n_predict = fields.count("max_output_tokens", 1..=i64::MAX)?;
    options.logprobs = logprobs(&mut fields)?;
    let messages = input::read(&mut fields)?;
    let mut tools = ToolUse::read(&mut fields, Style::Flat)?;
    options.constraint = format(&mut fields, model)?;
    let ignored = fields.done();
    let prompt = prompt::of_chat(server, &messages, tools.as_mut(), None, &mut options, &NAMES)?;
    let sampling = &options.sampling;
    for (field, value) in [("temperature", sampling.temperature), ("top_p", sampling.top_p)] {
        // The shortest number that means the same, as it was asked for.
        response[field] = value.to_string().parse::<f64>().map_or(Json::Null, Json::from);
    }
    response["seed"] = sampling.seed.into();
    let teller = Box::new(Told::new(server.clone(), response, options.logprobs.is_some()));
    let prompts = vec![(prompt, options)];
    Ok(Plan { prompts, n: 1, prompt_field: NAMES.messages, tools, stream, teller, ignored })
}

/// The response before its answer, with what is told of the request.
fn frame(fields: &Fields, server: &Server) -> Json {
    let asked = |field: &str, or: Json| fields.peek(field).cloned().unwrap_or(or);
    let format = fields.peek("text").and_then(|text| text.get("format")).filter(|it| !it.is_null());
    json!({
        "id": unique::id("resp_"),
        "object": "response",
        "created_at": unix_seconds(),
        "status": "in_progress",
        "background": false,
        "completed_at": null,
        "error": null,
        "incomplete_details": null,
        "instructions": asked("instructions", Json::Null),
        "max_output_tokens": asked("max_output_tokens", Json::Null),
        "max_tool_calls": asked("max_tool_calls", Json::Null),
        "metadata": asked("metadata", json!({})),
        "model": server.name(),
        "output": [],
        "parallel_tool_calls": asked("parallel_tool_calls", json!(true)),
        "previous_response_id": null,
        "prompt_cache_key": asked("prompt_cache_key", Json::Null),
        "reasoning": {"effort": null, "summary": null},
        "safety_identifier": asked("safety_identifier", Json::Null),
        "service_tier": "default",
        "store": false,
        "temperature": null,
        "text": {"format": format.cloned().unwrap_or_else(|| json!({"type": "text"})), "verbosity": "medium"},
        "tool_choice": asked("tool_choice", json!("auto")),
        "tools": asked("tools", json!([])),
        "top_logprobs": asked("top_logprobs", json!(0)),
        "top_p": null,
        "truncation": "disabled",
        "usage": null,
        "user": asked("user", Json::Null),
    })
}

/// What may only say what is done anyway.
fn limits(fields: &mut Fields) -> Result<(), ApiError> {
    for (field, why) in REFUSED {
        fields.refuse(field, why)?;
    }
    fields.only("background", &false.into())?;
    fields.only("truncation", &"disabled".into())?;
    fields.only("n", &1.into())?;
    if let Some(value) = fields.take("reasoning") {
        let mut inner = Fields::of(value, "reasoning")?;
        inner.only("effort", &"none".into())?;
        // There is no reasoning to be summed up.
        inner.ignore(&["summary", "generate_summary"]);
        fields.close(inner);
    }
    // Calls of tools that the server runs, which has none.
    fields.ignore(&["max_tool_calls", "prompt_cache_options"]);
    Ok(())
}

/// Tokens beside each that is told, if tokens are told.
fn logprobs(fields: &mut Fields) -> Result<Option<usize>, ApiError> {
    let mut wanted = false;
    match fields.take("include") {
        None => {}
        Some(Json::Array(list)) => {
            for (index, item) in list.iter().enumerate() {
                match item.as_str() {
                    Some(LOGPROBS) => wanted = true,
                    // About items that answers here do not have.
                    Some(
                        "reasoning.encrypted_content"
                        | "file_search_call.results"
                        | "web_search_call.results"
                        | "web_search_call.action.sources"
                        | "computer_call_output.output.image_url"
                        | "code_interpreter_call.outputs"
                        | "message.input_image.image_url",
                    ) => {}
                    Some(other) => {
                        let message = format!("{other:?} is not known, but {LOGPROBS} is");
                        return Err(ApiError::field(format!("include[{index}]"), message));
                    }
                    None => return Err(wrong(&format!("include[{index}]"), "a string", item)),
                }
            }
        }
        Some(other) => return Err(wrong("include", "a list", &other)),
    }
    match fields.count("top_logprobs", 0..=TOP_MAX)? {
        Some(1..) if !wanted => {
            Err(ApiError::field("top_logprobs", format!("is only allowed with {LOGPROBS} in include")))
        }
        top => Ok(wanted.then_some(top.unwrap_or(0))),
    }
}

/// What `text` asks for.
fn format(fields: &mut Fields, model: &Model) -> Result<Option<Constraint>, ApiError> {
    let Some(value) = fields.take("text") else { return Ok(None) };
    let mut text = Fields::of(value, "text")?;
    let constraint = response_format::read_flat(&mut text, model)?;
    text.only("verbosity", &"medium".into())?;
    fields.close(text);
    Ok(constraint)
}
