//! `POST /v1/chat/completions`.

use std::sync::Arc;

use minfer::GenerateOptions;
use serde_json::Value as Json;

use crate::answer::Plan;
use crate::common::{Common, TOP_MAX};
use crate::fields::{Fields, wrong};
use crate::prompt::Names;
use crate::reply::{Form, Reply};
use crate::tool_use::{Style, ToolUse};
use crate::{ApiError, Server, messages, prompt, response_format};

const NAMES: Names = Names { messages: "messages", format: "response_format" };

pub(crate) fn read(bytes: &[u8], server: &Arc<Server>) -> Result<Plan, ApiError> {
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
    let mut tools = ToolUse::read(&mut fields, Style::Nested)?;
    options.constraint = response_format::read(&mut fields, model)?;
    let ignored = fields.done();
    let prompt = prompt::of_chat(server, &messages, tools.as_mut(), extra.as_ref(), &mut options, &NAMES)?;
    let prompts: Vec<_> = (0..n).map(|i| (prompt.clone(), with_seed(&options, i))).collect();
    let teller = Reply::new(Form::Chat, server, &prompts, stream, include_usage);
    Ok(Plan { prompts, n, prompt_field: NAMES.messages, tools, stream, teller, ignored })
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
