//! Answers in the form of chats or of completions, as a whole or in pieces.

use std::sync::Arc;

use minfer::{GenerateOptions, TokenLogprobs};
use serde_json::{Value as Json, json};

use crate::answer::Spent;
use crate::choice::Delta;
use crate::logprobs::{self, OfCompletion};
use crate::server::unix_seconds;
use crate::teller::{Teller, event};
use crate::{ApiError, Server, unique};

/// Which of the two forms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    Chat,
    Completion,
}

/// The answers of a request.
pub(crate) struct Reply {
    server: Arc<Server>,
    form: Form,
    id: String,
    created: u64,
    seed: u64,
    with_logprobs: bool,
    stream: bool,
    include_usage: bool,
    wholes: Vec<Whole>,
    offsets: Vec<OfCompletion>,
}

impl Reply {
    /// For answers with these options, one or more.
    pub fn new(
        form: Form,
        server: &Arc<Server>,
        prompts: &[(Vec<u32>, GenerateOptions)],
        stream: bool,
        include_usage: bool,
    ) -> Box<Reply> {
        let options = &prompts[0].1;
        Box::new(Reply {
            server: server.clone(),
            form,
            id: unique::id(if form == Form::Chat { "chatcmpl-" } else { "cmpl-" }),
            created: unix_seconds(),
            seed: options.sampling.seed,
            with_logprobs: options.logprobs.is_some(),
            stream,
            include_usage,
            wholes: prompts.iter().map(|_| Whole::default()).collect(),
            offsets: prompts.iter().map(|_| OfCompletion::default()).collect(),
        })
    }

    /// With these texts before the answers, or without any.
    pub fn echoing(mut self: Box<Reply>, echoes: Vec<String>) -> Box<Reply> {
        self.wholes.iter_mut().zip(echoes).for_each(|(whole, echo)| whole.text = echo);
        self
    }

    /// The object around choices.
    fn frame(&self, choices: Json) -> Json {
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

    fn logprobs(&mut self, index: usize, tokens: &[TokenLogprobs]) -> Json {
        let tokenizer = self.server.engine.model().tokenizer();
        match self.form {
            _ if !self.with_logprobs => Json::Null,
            Form::Chat => logprobs::of_chat(tokens, tokenizer),
            Form::Completion => self.offsets[index].next(tokens, tokenizer),
        }
    }

    fn choice(&mut self, index: usize, whole: Whole) -> Json {
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

impl Teller for Reply {
    fn add(&mut self, index: usize, delta: Delta) {
        self.wholes[index].add(delta);
    }

    fn whole(&mut self, spent: Spent) -> Json {
        let wholes = std::mem::take(&mut self.wholes);
        let choices: Vec<Json> =
            wholes.into_iter().enumerate().map(|(i, whole)| self.choice(i, whole)).collect();
        let mut out = self.frame(choices.into());
        out["usage"] = usage(spent);
        out
    }

    fn opening(&mut self) -> Vec<String> {
        let begins = |(index, whole): (usize, &Whole)| {
            let delta = match self.form {
                Form::Chat => json!({"role": "assistant", "content": ""}),
                Form::Completion if whole.text.is_empty() => return None,
                Form::Completion => whole.text.clone().into(),
            };
            Some(event(&self.chunk(index, delta, Json::Null, None)))
        };
        self.wholes.iter().enumerate().filter_map(begins).collect()
    }

    fn pieces(&mut self, index: usize, delta: Delta) -> Vec<String> {
        let is_chat = self.form == Form::Chat;
        let chunk = match delta {
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
            Delta::CallEnd { .. } => return Vec::new(),
            Delta::End(reason, tokens) => {
                let logprobs = if tokens.is_empty() { Json::Null } else { self.logprobs(index, &tokens) };
                let delta = if is_chat { json!({}) } else { Json::from("") };
                self.chunk(index, delta, logprobs, Some(reason))
            }
        };
        vec![event(&chunk)]
    }

    fn closing(&mut self, spent: Spent) -> Vec<String> {
        let mut out = Vec::new();
        if self.include_usage {
            let mut last = self.frame(json!([]));
            last["usage"] = usage(spent);
            out.push(event(&last));
        }
        out.push("data: [DONE]\n\n".to_owned());
        out
    }

    fn failed(&mut self, error: &ApiError) -> Vec<String> {
        vec![event(&error.to_json())]
    }
}

fn usage(spent: Spent) -> Json {
    json!({
        "prompt_tokens": spent.prompt,
        "completion_tokens": spent.answer,
        "total_tokens": spent.prompt + spent.answer,
        "prompt_tokens_details": {"cached_tokens": spent.cached},
    })
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
            Delta::CallEnd { .. } => {}
            Delta::End(reason, tokens) => {
                self.reason = reason;
                self.tokens.extend(tokens);
            }
        }
    }
}
