//! `POST /v1/chat/completions`.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::State;
use axum::extract::rejection::BytesRejection;
use axum::response::Response;
use minfer::{DateTime, GenerateOptions, RenderOptions};
use serde_json::{Map, Value as Json};

use crate::answer::{self, Form, Plan};
use crate::common::{Common, TOP_MAX};
use crate::fields::{Fields, wrong};
use crate::server::unix_seconds;
use crate::tool_use::ToolUse;
use crate::{ApiError, Server, messages, response_format};

pub(crate) async fn answer(
    State(server): State<Arc<Server>>,
    bytes: Result<Bytes, BytesRejection>,
) -> Result<Response, ApiError> {
    answer::respond(server, bytes, read).await
}

fn read(bytes: &[u8], server: &Server) -> Result<Plan, ApiError> {
    let model = server.engine.model();
    let mut fields = Fields::of_body(bytes)?;
    let Common { n, stream, include_usage, mut options } = Common::read(&mut fields, server)?;
    options.n_predict = most_tokens(&mut fields)?;
    options.logprobs = logprobs(&mut fields)?;
    let messages = messages::read(&mut fields)?;
    let extra = match fields.take("chat_template_kwargs") {
        None => None,
        Some(Json::Object(map)) => Some(map),
        Some(other) => return Err(wrong("chat_template_kwargs", "an object", &other)),
    };
    let mut tools = ToolUse::read(&mut fields)?;
    options.constraint = response_format::read(&mut fields, model)?;
    let ignored = fields.done();
    let prompt = prompt(server, &messages, tools.as_mut(), extra.as_ref())?;
    if let Some(tools) = &tools {
        if options.constraint.is_some() {
            return Err(ApiError::field("response_format", "is not supported together with tools"));
        }
        options.constraint = tools.constraint(model)?;
    }
    let prompts = (0..n).map(|i| (prompt.clone(), with_seed(&options, i))).collect();
    Ok(Plan { form: Form::Chat, prompts, n, tools, stream, include_usage, ignored })
}

/// The options of a further answer: the next seed.
pub(crate) fn with_seed(options: &GenerateOptions, further: usize) -> GenerateOptions {
    let mut options = options.clone();
    options.sampling.seed = options.sampling.seed.wrapping_add(further as u64);
    options
}

fn most_tokens(fields: &mut Fields) -> Result<Option<usize>, ApiError> {
    let old = fields.count("max_tokens", 1..=i64::MAX)?;
    let new = fields.count("max_completion_tokens", 1..=i64::MAX)?;
    match (old, new) {
        (Some(old), Some(new)) if old != new => {
            Err(ApiError::field("max_tokens", "says otherwise than max_completion_tokens"))
        }
        _ => Ok(new.or(old)),
    }
}

fn logprobs(fields: &mut Fields) -> Result<Option<usize>, ApiError> {
    let wanted = fields.flag("logprobs")?.unwrap_or(false);
    match fields.count("top_logprobs", 0..=TOP_MAX)? {
        Some(1..) if !wanted => Err(ApiError::field("top_logprobs", "is only allowed with logprobs")),
        top => Ok(wanted.then_some(top.unwrap_or(0))),
    }
}

/// The tokens of the chat. A template that leaves the tools out is of no use to who sends some.
fn prompt(
    server: &Server,
    messages: &Json,
    tools: Option<&mut ToolUse>,
    extra: Option<&Map<String, Json>>,
) -> Result<Vec<u32>, ApiError> {
    let model = server.engine.model();
    let now = Some(DateTime::from_unix(unix_seconds() as i64, 0));
    let plain = RenderOptions { add_generation_prompt: true, tools: None, extra, now };
    let tokens = |options: &RenderOptions| {
        model.tokenize_chat(messages, options).map_err(|error| ApiError::of(error, "messages"))
    };
    let Some(tools) = tools else { return tokens(&plain) };
    let prompt = tokens(&RenderOptions { tools: Some(&tools.declared), ..plain })?;
    if !tools.must_call() && prompt == tokens(&plain)? {
        return Err(ApiError::field("tools", "the model's chat template does not tell of tools"));
    }
    tools.learn_form(&model.tokenizer().decode(&prompt, true), model);
    Ok(prompt)
}
