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
    /// A call is whole, or the answer ended in it.
    CallEnd { complete: bool },
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
                    out.push(Delta::CallEnd { complete });
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

#[cfg(test)]
mod tests {
    use super::*;
    use tools::Form;

    const CALLS: &str = "So. <tool_call>{\"name\": \"f\", \"arguments\": {\"q\": \"a\\\"b}\\n\"}}</tool_call>\n\
        <tool_call>{\"name\": \"g\", \"arguments\": {}}</tool_call>";

    /// Text, names with arguments, and the reason, of an answer that comes in pieces of so many characters.
    fn told(
        text: &str,
        size: usize,
        several: bool,
        reason: FinishReason,
    ) -> (String, Vec<(String, String)>, String) {
        let mut choice = Choice::new(Some(Parser::new(Form::Hermes)), several);
        let characters: Vec<char> = text.chars().collect();
        let mut happenings: Vec<Happening> =
            characters.chunks(size).map(|piece| Happening::Text(piece.iter().collect())).collect();
        happenings.push(Happening::Finished { reason, usage: Usage::default() });
        let (mut text, mut calls, mut ids, mut end) = (String::new(), Vec::new(), Vec::new(), String::new());
        for happening in happenings {
            for delta in choice.take(happening, |_| false).unwrap() {
                match delta {
                    Delta::Text(piece, _) => text += &piece,
                    Delta::Call { index, id, name } => {
                        assert_eq!(index, calls.len());
                        assert!(!ids.contains(&id));
                        ids.push(id);
                        calls.push((name, String::new()));
                    }
                    Delta::Arguments { index, text } => calls[index].1 += &text,
                    Delta::CallEnd { complete } => assert_eq!(complete, reason != FinishReason::Length),
                    Delta::End(reason, _) => end = reason.to_owned(),
                }
            }
        }
        (text, calls, end)
    }

    #[test]
    fn calls_are_the_same_however_the_text_is_cut() {
        let call = |name: &str, arguments: &str| (name.to_owned(), arguments.to_owned());
        let first = call("f", "{\"q\": \"a\\\"b}\\n\"}");
        let both = ("So. ".to_owned(), vec![first.clone(), call("g", "{}")], "tool_calls".to_owned());
        for size in [1, 2, 3, 7, 1000] {
            assert_eq!(told(CALLS, size, true, FinishReason::Stop), both, "{size}");
            // The engine is told to end the answer after the first.
            let one = told(CALLS, size, false, FinishReason::Cancelled);
            assert_eq!(one, (both.0.clone(), vec![first.clone()], both.2.clone()), "{size}");
        }
    }

    #[test]
    fn an_answer_that_is_cut_in_a_call_ends_for_its_length() {
        let cut = &CALLS[..CALLS.find("b}").unwrap()];
        let (text, calls, reason) = told(cut, 4, true, FinishReason::Length);
        assert_eq!((text.as_str(), reason.as_str()), ("So. ", "length"));
        assert_eq!(calls, [("f".to_owned(), "{\"q\": \"a\\\"".to_owned())]);
    }

    #[test]
    fn text_that_only_looks_like_a_call_is_text() {
        let text = "a <tool_cal> b <tool_call>no";
        assert_eq!(told(text, 3, true, FinishReason::Stop), (text.to_owned(), Vec::new(), "stop".to_owned()));
    }
}
