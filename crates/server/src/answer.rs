//! Answers in the form of chats or of completions, as a whole or in pieces.

use std::sync::Arc;
use std::time::Instant;

use axum::Json as JsonBody;
use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::response::{IntoResponse, Response};
use minfer::{GenerateOptions, Happening, TokenLogprobs};
use serde_json::{Value as Json, json};

use crate::choice::{Choice, Delta};
use crate::generation::{Generation, blocking, body};
use crate::ignored::Ignored;
use crate::logprobs::{self, OfCompletion};
use crate::server::unix_seconds;
use crate::tool_use::ToolUse;
use crate::{ApiError, Server, stream, unique};

/// Which of the two forms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    Chat,
    Completion,
}

impl Form {
    /// The field with the prompts.
    fn prompt_field(self) -> &'static str {
        match self {
            Form::Chat => "messages",
            Form::Completion => "prompt",
        }
    }
}

/// A request that was read.
pub(crate) struct Plan {
    pub form: Form,
    /// Prompts with how to answer each, `n` for every prompt of the request.
    pub prompts: Vec<(Vec<u32>, GenerateOptions)>,
    pub n: usize,
    pub tools: Option<ToolUse>,
    pub stream: bool,
    pub include_usage: bool,
    /// Fields that nobody knows.
    pub ignored: Ignored,
}

/// The response to a body that `read` understands. While it is waited for, or read, the answers are made; dropping it
/// gives them up.
pub(crate) async fn respond(
    server: Arc<Server>,
    bytes: Result<Bytes, BytesRejection>,
    read: fn(&[u8], &Server) -> Result<Plan, ApiError>,
) -> Result<Response, ApiError> {
    let since = Instant::now();
    let bytes = body(bytes, &server)?;
    let pending = blocking(move || {
        let mut plan = read(&bytes, &server)?;
        let ignored = std::mem::take(&mut plan.ignored);
        let field = plan.form.prompt_field();
        let generation = Generation::start(&server, plan.prompts.clone(), field, since)?;
        Ok((ignored, Pending { reply: Reply::new(plan, server), generation }))
    });
    let (ignored, pending) = pending.await?;
    Ok((ignored, pending.response().await?).into_response())
}

/// Answers that have begun.
struct Pending {
    reply: Reply,
    generation: Generation,
}

impl Pending {
    async fn response(self) -> Result<Response, ApiError> {
        let Pending { mut reply, mut generation } = self;
        if reply.stream {
            return Ok(stream::response(reply, generation));
        }
        let mut wholes: Vec<Whole> = reply.choices.iter().map(|_| Whole::default()).collect();
        while let Some((index, happening)) = generation.next().await {
            for delta in reply.take(index, happening, &generation)? {
                wholes[index].add(delta);
            }
        }
        if !generation.is_over() {
            return Err(ApiError::Stopping);
        }
        let choices: Vec<Json> =
            wholes.into_iter().enumerate().map(|(i, whole)| reply.whole(i, whole)).collect();
        let mut out = reply.frame(choices.into());
        out["usage"] = reply.usage();
        Ok(JsonBody(out).into_response())
    }
}

/// What the answers of a request have in common, and where each stands.
pub(crate) struct Reply {
    server: Arc<Server>,
    form: Form,
    id: String,
    created: u64,
    seed: u64,
    n: usize,
    with_logprobs: bool,
    stream: bool,
    pub include_usage: bool,
    choices: Vec<Choice>,
    offsets: Vec<OfCompletion>,
}

impl Reply {
    fn new(plan: Plan, server: Arc<Server>) -> Reply {
        let Plan { form, prompts, n, tools, stream, include_usage, ignored: _ } = plan;
        let options = &prompts[0].1;
        let several = tools.as_ref().is_none_or(|tools| tools.several);
        let choice = |_: &_| Choice::new(tools.as_ref().map(ToolUse::parser), several);
        Reply {
            server,
            form,
            id: unique::id(if form == Form::Chat { "chatcmpl-" } else { "cmpl-" }),
            created: unix_seconds(),
            seed: options.sampling.seed,
            n,
            with_logprobs: options.logprobs.is_some(),
            stream,
            include_usage,
            choices: prompts.iter().map(choice).collect(),
            offsets: prompts.iter().map(|_| OfCompletion::default()).collect(),
        }
    }

    /// How many answers there are.
    pub fn count(&self) -> usize {
        self.choices.len()
    }

    /// What is new of an answer. One that needs nothing more is ended.
    pub fn take(
        &mut self,
        index: usize,
        happening: Happening,
        generation: &Generation,
    ) -> Result<Vec<Delta>, ApiError> {
        let tokenizer = self.server.engine.model().tokenizer();
        let choice = &mut self.choices[index];
        let deltas = choice.take(happening, |id| tokenizer.is_eog(id))?;
        if choice.is_closed() {
            generation.cancel(index);
        }
        Ok(deltas)
    }

    /// The object around choices.
    pub fn frame(&self, choices: Json) -> Json {
        let object = match (self.form, self.stream) {
            (Form::Chat, false) => "chat.completion",
            (Form::Chat, true) => "chat.completion.chunk",
            (Form::Completion, _) => "text_completion",
        };
        json!({
            "id": self.id,
            "object": object,
            "created": self.created,
            "model": self.server.name(),
            "system_fingerprint": concat!("minfer-", env!("CARGO_PKG_VERSION")),
            "seed": self.seed,
            "choices": choices,
        })
    }

    /// What the answers took. A prompt counts once, however many answers it has.
    pub fn usage(&self) -> Json {
        let prompts = self.choices.iter().step_by(self.n);
        let (mut prompt_tokens, mut cached_tokens) = (0, 0);
        for choice in prompts {
            prompt_tokens += choice.usage.prompt_tokens;
            cached_tokens += choice.usage.cached_tokens;
        }
        let completion_tokens: usize = self.choices.iter().map(|choice| choice.usage.completion_tokens).sum();
        json!({
            "prompt_tokens": prompt_tokens,
            "completion_tokens": completion_tokens,
            "total_tokens": prompt_tokens + completion_tokens,
            "prompt_tokens_details": {"cached_tokens": cached_tokens},
        })
    }

    fn logprobs(&mut self, index: usize, tokens: &[TokenLogprobs]) -> Json {
        let tokenizer = self.server.engine.model().tokenizer();
        match self.form {
            _ if !self.with_logprobs => Json::Null,
            Form::Chat => logprobs::of_chat(tokens, tokenizer),
            Form::Completion => self.offsets[index].next(tokens, tokenizer),
        }
    }

    fn whole(&mut self, index: usize, whole: Whole) -> Json {
        let Whole { text, tokens, calls, reason } = whole;
        let logprobs = self.logprobs(index, &tokens);
        if self.form == Form::Completion {
            return json!({"index": index, "text": text, "logprobs": logprobs, "finish_reason": reason});
        }
        let has_content = !text.is_empty() || calls.is_empty();
        let content = if has_content { Json::from(text) } else { Json::Null };
        let mut message = json!({"role": "assistant", "content": content, "refusal": null});
        if !calls.is_empty() {
            message["tool_calls"] = calls.into();
        }
        json!({"index": index, "message": message, "logprobs": logprobs, "finish_reason": reason})
    }

    /// What a stream begins with, for each answer.
    pub fn opening(&self, index: usize) -> Option<Json> {
        let delta = json!({"role": "assistant", "content": ""});
        (self.form == Form::Chat).then(|| self.chunk(index, delta, Json::Null, None))
    }

    /// A piece of a stream.
    pub fn piece(&mut self, index: usize, delta: Delta) -> Json {
        let is_chat = self.form == Form::Chat;
        match delta {
            Delta::Text(text, tokens) => {
                let logprobs = self.logprobs(index, &tokens);
                let delta = if is_chat { json!({"content": text}) } else { Json::from(text) };
                self.chunk(index, delta, logprobs, None)
            }
            Delta::Call { index: call, id, name } => {
                let function = json!({"name": name, "arguments": ""});
                let call = json!({"index": call, "id": id, "type": "function", "function": function});
                self.chunk(index, json!({"tool_calls": [call]}), Json::Null, None)
            }
            Delta::Arguments { index: call, text } => {
                let call = json!({"index": call, "function": {"arguments": text}});
                self.chunk(index, json!({"tool_calls": [call]}), Json::Null, None)
            }
            Delta::End(reason, tokens) => {
                let logprobs = if tokens.is_empty() { Json::Null } else { self.logprobs(index, &tokens) };
                let delta = if is_chat { json!({}) } else { Json::from("") };
                self.chunk(index, delta, logprobs, Some(reason))
            }
        }
    }

    fn chunk(&self, index: usize, delta: Json, logprobs: Json, reason: Option<&str>) -> Json {
        let what = if self.form == Form::Chat { "delta" } else { "text" };
        let mut out =
            self.frame(json!([{"index": index, what: delta, "logprobs": logprobs, "finish_reason": reason}]));
        if self.include_usage {
            out["usage"] = Json::Null;
        }
        out
    }
}

/// An answer that is told as a whole.
#[derive(Default)]
struct Whole {
    text: String,
    tokens: Vec<TokenLogprobs>,
    calls: Vec<Json>,
    reason: &'static str,
}

impl Whole {
    fn add(&mut self, delta: Delta) {
        match delta {
            Delta::Text(text, tokens) => {
                self.text.push_str(&text);
                self.tokens.extend(tokens);
            }
            Delta::Call { id, name, .. } => self.calls.push(json!({
                "id": id,
                "type": "function",
                "function": {"name": name, "arguments": ""},
            })),
            Delta::Arguments { index, text } => {
                if let Json::String(arguments) = &mut self.calls[index]["function"]["arguments"] {
                    arguments.push_str(&text);
                }
            }
            Delta::End(reason, tokens) => {
                self.reason = reason;
                self.tokens.extend(tokens);
            }
        }
    }
}
