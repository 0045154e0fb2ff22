//! From a conversation to the tokens before the answer.

use minfer::{DateTime, GenerateOptions, RenderOptions};
use serde_json::{Map, Value as Json};

use crate::server::unix_seconds;
use crate::tool_use::ToolUse;
use crate::{ApiError, Server};

/// What a form calls its fields.
pub(crate) struct Names {
    pub messages: &'static str,
    /// The form of the answer.
    pub format: &'static str,
}

/// The tokens of a chat. What an answer that must call a tool obeys comes into the options.
pub(crate) fn of_chat(
    server: &Server,
    messages: &Json,
    mut tools: Option<&mut ToolUse>,
    extra: Option<&Map<String, Json>>,
    options: &mut GenerateOptions,
    names: &Names,
) -> Result<Vec<u32>, ApiError> {
    let prompt = tokens(server, messages, tools.as_deref_mut(), extra, names)?;
    if let Some(tools) = tools {
        if options.constraint.is_some() {
            return Err(ApiError::field(names.format, "is not supported together with tools"));
        }
        options.constraint = tools.constraint(server.engine.model())?;
    }
    Ok(prompt)
}

/// A template that leaves the tools out is of no use to who sends some.
fn tokens(
    server: &Server,
    messages: &Json,
    tools: Option<&mut ToolUse>,
    extra: Option<&Map<String, Json>>,
    names: &Names,
) -> Result<Vec<u32>, ApiError> {
    let model = server.engine.model();
    let now = Some(DateTime::from_unix(unix_seconds() as i64, 0));
    let plain = RenderOptions { add_generation_prompt: true, tools: None, extra, now };
    let tokens = |options: &RenderOptions| {
        model.tokenize_chat(messages, options).map_err(|error| ApiError::of(error, names.messages))
    };
    let Some(tools) = tools else { return tokens(&plain) };
    let prompt = tokens(&RenderOptions { tools: Some(&tools.declared), ..plain })?;
    if !tools.must_call() && prompt == tokens(&plain)? {
        return Err(ApiError::field("tools", "the model's chat template does not tell of tools"));
    }
    tools.learn_form(&model.tokenizer().decode(&prompt, true), model);
    Ok(prompt)
}
