//! What an answer took, and how full the context is: for people and for programs.

use std::io::{self, IsTerminal, Write};
use std::time::Duration;

use minfer::{FinishReason, Usage};
use serde_json::{Value as Json, json};

use super::answer::Answer;
use crate::commands::JSON_VERSION;

/// What is told of the latest answer.
#[derive(Clone, Copy)]
pub struct Last {
    pub reason: FinishReason,
    pub seed: u64,
    pub usage: Usage,
}

impl From<&Answer> for Last {
    fn from(Answer { reason, seed, usage, .. }: &Answer) -> Last {
        Last { reason: *reason, seed: *seed, usage: *usage }
    }
}

/// What all answers took since the program began.
#[derive(Clone, Copy, Default)]
pub struct Total {
    pub answers: usize,
    /// Tokens of prompts that the cache had.
    pub cached: usize,
    /// Tokens of prompts that it had not.
    pub computed: usize,
    pub completion: usize,
}

impl Total {
    pub fn add(&mut self, usage: &Usage) {
        self.answers += 1;
        self.cached += usage.cached_tokens;
        self.computed += computed(usage);
        self.completion += usage.completion_tokens;
    }
}

/// The state of a conversation.
pub struct Report {
    /// Tokens that the conversation takes.
    pub used: usize,
    /// Positions of the context.
    pub n_ctx: usize,
    pub last: Option<Last>,
    pub total: Total,
}

impl Report {
    /// One JSON object; `text` is that of the answer if it is part of it.
    pub fn to_json(&self, text: Option<&str>) -> Json {
        let mut out = json!({"version": JSON_VERSION});
        if let Some(text) = text {
            out["text"] = text.into();
        }
        out["finish_reason"] = self.last.map(|last| last.reason.name()).into();
        out["seed"] = self.last.map(|last| last.seed).into();
        out["usage"] = self.last.map_or(Json::Null, |Last { usage, .. }| {
            json!({
                "prompt_tokens": usage.prompt_tokens,
                "cached_tokens": usage.cached_tokens,
                "computed_tokens": computed(&usage),
                "completion_tokens": usage.completion_tokens,
            })
        });
        out["timings"] = self.last.map_or(Json::Null, |Last { usage, .. }| {
            json!({
                "prompt_ms": usage.prompt_time.as_secs_f64() * 1000.0,
                "prompt_tokens_per_s": rate(computed(&usage), usage.prompt_time),
                "decode_tokens_per_s": decode_rate(&usage),
            })
        });
        out["context"] = json!({"used": self.used, "left": self.left(), "size": self.n_ctx});
        out
    }

    /// What `/stats` tells: that of the last answer, and of all.
    pub fn stats_json(&self) -> Json {
        let Total { answers, cached, computed, completion } = self.total;
        let mut out = self.to_json(None);
        out["total"] = json!({
            "answers": answers,
            "cached_tokens": cached,
            "computed_tokens": computed,
            "completion_tokens": completion,
        });
        out
    }

    /// For people.
    pub fn shown(&self) -> String {
        let context = format!("context: {} of {} tokens used, {} left\n", self.used, self.n_ctx, self.left());
        let Some(Last { reason, seed, usage }) = self.last else { return context };
        let Total { answers, cached, computed: in_all, completion } = self.total;
        format!(
            "{context}prompt: {} tokens, {} from the cache, {} computed, {:.1} tokens/s\nanswer: {} tokens, {:.1} tokens/s, \
             ended by {}, seed {seed}\nall {answers} answers: {cached} tokens from the cache, {in_all} computed, {completion} \
             answered\n",
            usage.prompt_tokens,
            usage.cached_tokens,
            computed(&usage),
            rate(computed(&usage), usage.prompt_time),
            usage.completion_tokens,
            decode_rate(&usage),
            reason.name(),
        )
    }

    /// The line after an answer, on standard error, where that is a terminal.
    pub fn tell(&self, no_colour: bool) {
        let Some(last) = self.last.filter(|_| io::stderr().is_terminal()) else { return };
        let (dim, plain) = if no_colour { ("", "") } else { ("\x1b[2m", "\x1b[0m") };
        let (rate, used, size) = (decode_rate(&last.usage), self.used, self.n_ctx);
        let _ = writeln!(io::stderr(), "{dim}[{rate:.1} tokens/s, context {used} of {size}]{plain}");
    }

    fn left(&self) -> usize {
        self.n_ctx.saturating_sub(self.used)
    }
}

/// Tokens of the prompt that the cache did not have.
fn computed(usage: &Usage) -> usize {
    usage.prompt_tokens - usage.cached_tokens
}

fn decode_rate(usage: &Usage) -> f64 {
    rate(usage.completion_tokens.saturating_sub(1), usage.decode_time)
}

fn rate(count: usize, time: Duration) -> f64 {
    if time.is_zero() { 0.0 } else { count as f64 / time.as_secs_f64() }
}
