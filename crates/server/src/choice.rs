//! One answer while it arrives: the same steps whether it is streamed or told as a whole.

use minfer::{FinishReason, Happening, TokenLogprobs, Usage};
use tools::{Event, Parser};

use crate::{ApiError, unique};

/// What is new of an answer.
#[derive(Debug)]
pub(crate) enum Delta {
    /// Text, with the tokens that have come since the last.
    Text(String, Vec<TokenLogprobs>),
    /// A call of a tool begins.
    Call { index: usize, id: String, name: String },
    /// More of a call's arguments.
    Arguments { index: usize, text: String },
    /// Tokens without text, and why the answer ended.
    End(&'static str, Vec<TokenLogprobs>),
}

/// An answer while it arrives.
pub(crate) struct Choice {
    /// Finds calls, where there are tools.
    parser: Option<Parser>,
    /// Whether there may be more calls than one.
    several: bool,
    /// Whether nothing that comes is part of the answer any more.
    is_closed: bool,
    /// Calls that are whole.
    calls: usize,
    /// Tokens whose text has not come.
    pending: Vec<TokenLogprobs>,
    /// What it took, once it is over.
    pub usage: Usage,
}

impl Choice {
    pub fn new(parser: Option<Parser>, several: bool) -> Choice {
        Choice { parser, several, is_closed: false, calls: 0, pending: Vec::new(), usage: Usage::default() }
    }

    /// Whether the engine need not go on.
    pub fn is_closed(&self) -> bool {
        self.is_closed
    }

    /// Takes what happened; `is_end` says which tokens end answers, which are not part of them.
    pub fn take(
        &mut self,
        happening: Happening,
        is_end: impl Fn(u32) -> bool,
    ) -> Result<Vec<Delta>, ApiError> {
        let mut out = Vec::new();
        match happening {
            Happening::Started { .. } | Happening::Prompt { .. } => {}
            Happening::Token { id, logprobs } => self.pending.extend(logprobs.filter(|_| !is_end(id))),
            Happening::Text(text) => match &mut self.parser {
                None => out.push(Delta::Text(text, std::mem::take(&mut self.pending))),
                Some(parser) => {
                    let events = parser.push(&text);
                    self.take_events(events, &mut out);
                }
            },
            Happening::Finished { reason, usage } => {
                if let Some(parser) = &mut self.parser {
                    let events = parser.finish();
                    self.take_events(events, &mut out);
                }
                self.usage = usage;
                out.push(Delta::End(self.reason(reason)?, std::mem::take(&mut self.pending)));
            }
            Happening::Failed(error) => return Err(ApiError::Failed(error.to_string())),
        }
        Ok(out)
    }

    fn take_events(&mut self, events: Vec<Event>, out: &mut Vec<Delta>) {
        for event in events {
            if self.is_closed {
                return;
            }
            match event {
                Event::Text(text) => out.push(Delta::Text(text, std::mem::take(&mut self.pending))),
                Event::CallBegin { index, name } => {
                    out.push(Delta::Call { index, id: unique::id("call_"), name })
                }
                Event::ArgumentsDelta { index, text } => out.push(Delta::Arguments { index, text }),
                Event::CallEnd { complete, .. } => {
                    self.calls += usize::from(complete);
                    self.is_closed = !self.several;
                }
            }
        }
    }

    fn reason(&self, reason: FinishReason) -> Result<&'static str, ApiError> {
        match reason {
            FinishReason::Stop | FinishReason::Cancelled if self.calls > 0 => Ok("tool_calls"),
            FinishReason::Stop => Ok("stop"),
            FinishReason::Length | FinishReason::Context if self.is_closed && self.calls > 0 => {
                Ok("tool_calls")
            }
            FinishReason::Length | FinishReason::Context => Ok("length"),
            FinishReason::Cancelled if self.is_closed => Ok("stop"),
            FinishReason::Cancelled => Err(ApiError::Failed("the request was cancelled".to_owned())),
        }
    }
}
