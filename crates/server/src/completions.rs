//! `POST /v1/completions`.

use std::sync::Arc;

use serde_json::Value as Json;

use crate::answer::Plan;
use crate::chat::with_seed;
use crate::common::{Common, TOP_MAX};
use crate::fields::{Fields, wrong};
use crate::reply::{Form, Reply};
use crate::{ApiError, Server, response_format, tokens};

/// Tokens of an answer where a request does not say, as in OpenAI's interface.
const MAX_TOKENS: usize = 16;

pub(crate) fn read(bytes: &[u8], server: &Arc<Server>) -> Result<Plan, ApiError> {
    let mut fields = Fields::of_body(bytes)?;
    let common = Common::read(&mut fields, server)?;
    let mut options = common.options.clone();
    options.n_predict = Some(fields.count("max_tokens", 0..=i64::MAX)?.unwrap_or(MAX_TOKENS));
    options.logprobs = fields.count("logprobs", 0..=TOP_MAX)?;
    options.constraint = response_format::read(&mut fields, server.engine.model())?;
    let prompts = prompts(fields.require("prompt")?, server)?;
    let echo = fields.flag("echo")?.unwrap_or(false);
    if echo && options.logprobs.is_some() {
        return Err(ApiError::field("echo", "is not supported together with logprobs"));
    }
    fields.only("best_of", &common.n.into())?;
    let ignored = fields.done();
    common.check_answers(prompts.len())?;
    let (n, stream, include_usage) = (common.n, common.stream, common.include_usage);
    let tokenizer = server.engine.model().tokenizer();
    let echoed =
        |prompt: &Prompt| prompt.text.clone().unwrap_or_else(|| tokenizer.decode(&prompt.tokens, true));
    let echoes = prompts.iter().filter(|_| echo).flat_map(|prompt| vec![echoed(prompt); n]).collect();
    let each =
        |prompt: Prompt| (0..n).map(|i| (prompt.tokens.clone(), with_seed(&options, i))).collect::<Vec<_>>();
    let prompts: Vec<_> = prompts.into_iter().flat_map(each).collect();
    let teller = Reply::new(Form::Completion, server, &prompts, stream, include_usage).echoing(echoes);
    Ok(Plan { prompts, n, prompt_field: "prompt", tools: None, stream, teller, ignored })
}

/// What is to be gone on with.
struct Prompt {
    tokens: Vec<u32>,
    /// As the request has it, if it has a text.
    text: Option<String>,
}

/// A text, several, the tokens of one, or those of several. A text is a raw prompt: control tokens in it are taken for what
/// they say.
fn prompts(prompt: Json, server: &Server) -> Result<Vec<Prompt>, ApiError> {
    const FIELD: &str = "prompt";
    let text = |text: &str| {
        let tokens = server.engine.model().tokenize(text, true);
        let tokens = tokens.map_err(|error| ApiError::of(error, FIELD))?;
        Ok(Prompt { tokens, text: Some(text.to_owned()) })
    };
    let of_ids =
        |ids: &[Json], field: &str| Ok(Prompt { tokens: tokens::ids(ids, field, server)?, text: None });
    let list = match prompt {
        Json::String(prompt) => return Ok(vec![text(&prompt)?]),
        Json::Array(list) if list.is_empty() => return Err(ApiError::field(FIELD, "is empty")),
        Json::Array(list) => list,
        other => return Err(wrong(FIELD, "a string or a list", &other)),
    };
    if list[0].is_number() {
        return Ok(vec![of_ids(&list, FIELD)?]);
    }
    let one = |(index, item): (usize, &Json)| match item {
        Json::String(prompt) => text(prompt),
        Json::Array(ids) => of_ids(ids, &format!("{FIELD}[{index}]")),
        other => Err(wrong(&format!("{FIELD}[{index}]"), "a string or a list of tokens", other)),
    };
    list.iter().enumerate().map(one).collect()
}
