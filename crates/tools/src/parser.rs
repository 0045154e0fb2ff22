//! Text to events.

use crate::call::{Call, Progress};
use crate::{Event, Form};

/// Finds calls in text that arrives in pieces.
///
/// ```
/// use tools::{Event, Form, Parser};
///
/// let mut parser = Parser::new(Form::Hermes);
/// let mut events = parser.push("Let me see. <tool_c");
/// events.extend(parser.push("all>{\"name\": \"now\", \"arguments\": {\"zone\": \"UTC\"}}</tool_call>"));
/// events.extend(parser.finish());
/// assert_eq!(events, [
///     Event::Text("Let me see. ".into()),
///     Event::CallBegin { index: 0, name: "now".into() },
///     Event::ArgumentsDelta { index: 0, text: "{\"zone\": \"UTC\"}".into() },
///     Event::CallEnd { index: 0, complete: true },
/// ]);
/// ```
pub struct Parser {
    form: Form,
    declared: Option<Vec<String>>,
    state: State,
    calls: usize,
    out: Vec<Event>,
}

/// Where the text is. What is held is decided by what follows.
enum State {
    /// Nothing but white space so far.
    Start { held: String },
    /// In text. `held` may be the beginning of a tag; `before` is white space behind a call, which is part of the text
    /// if text follows.
    Text { before: String, held: String },
    /// Behind a tag that begins a call; the tag and white space.
    Opened { held: String },
    /// In a call.
    Call(Box<Call>),
    /// Behind a call's object, where a tag is to follow.
    Closing { held: String },
    /// Behind a call; white space.
    After { held: String },
}

impl Parser {
    /// For the text of one answer.
    pub fn new(form: Form) -> Parser {
        let state = match form.is_bare() {
            true => State::Start { held: String::new() },
            false => State::Text { before: String::new(), held: String::new() },
        };
        Parser { form, declared: None, state, calls: 0, out: Vec::new() }
    }

    /// Objects that stand alone are calls only if they name one of these tools; with a tag, any name is one.
    pub fn with_declared<S: Into<String>>(self, names: impl IntoIterator<Item = S>) -> Parser {
        Parser { declared: Some(names.into_iter().map(Into::into).collect()), ..self }
    }

    /// How many calls there have been.
    pub fn calls(&self) -> usize {
        self.calls
    }

    /// Takes the next piece of the text. What is decided by now comes out.
    pub fn push(&mut self, piece: &str) -> Vec<Event> {
        piece.chars().for_each(|c| self.feed(c));
        if let State::Call(call) = &mut self.state {
            call.flush(&mut self.out);
        }
        std::mem::take(&mut self.out)
    }

    /// The text ends here; what was held is decided.
    pub fn finish(&mut self) -> Vec<Event> {
        let empty = State::Text { before: String::new(), held: String::new() };
        match std::mem::replace(&mut self.state, empty) {
            State::Start { held } | State::Opened { held } => self.text(&held),
            State::Text { before, held } if !held.is_empty() => self.text(&(before + &held)),
            State::Text { .. } | State::After { .. } => {}
            State::Closing { held } if held.trim().is_empty() => {}
            State::Closing { held } => self.text(&held),
            State::Call(mut call) => {
                let (text, _) = call.cut(&mut self.out);
                self.text(&text);
            }
        }
        std::mem::take(&mut self.out)
    }

    fn text(&mut self, text: &str) {
        Event::Text(text.to_owned()).append_to(&mut self.out);
    }

    fn feed(&mut self, c: char) {
        let empty = State::Text { before: String::new(), held: String::new() };
        match std::mem::replace(&mut self.state, empty) {
            State::Start { held } if is_space(c) => {
                self.state = State::Start { held: held + c.encode_utf8(&mut [0; 4]) }
            }
            State::Start { held } if c == '{' => self.begin(held, false),
            State::Start { held } => {
                self.text(&held);
                self.feed(c);
            }
            State::Text { before, held } => self.feed_text(before, held, c),
            State::Opened { held } if is_space(c) => {
                self.state = State::Opened { held: held + c.encode_utf8(&mut [0; 4]) }
            }
            State::Opened { held } if c == '{' => self.begin(held, true),
            State::Opened { held } => {
                self.text(&held);
                self.feed(c);
            }
            State::Call(call) => self.feed_call(call, c),
            State::Closing { held } => self.feed_closing(held, c),
            State::After { held }
                if is_space(c) || (self.form.separator() == Some(c) && !held.contains(c)) =>
            {
                self.state = State::After { held: held + c.encode_utf8(&mut [0; 4]) };
            }
            State::After { held } if c == '{' && self.form.is_bare() => self.begin(held, false),
            State::After { held } => self.feed_text(held, String::new(), c),
        }
    }

    fn begin(&mut self, before: String, tagged: bool) {
        self.state = State::Call(Box::new(Call::new(self.calls, before, tagged)));
    }

    fn feed_text(&mut self, mut before: String, mut held: String, c: char) {
        held.push(c);
        let open = self.form.open();
        if Some(held.as_str()) == open {
            self.state = State::Opened { held: before + &held };
            return;
        }
        // The longest end that may be the beginning of a tag.
        let could_open = |end: &str| open.is_some_and(|open| open.starts_with(end));
        let cut =
            held.char_indices().map(|(at, _)| at).find(|at| could_open(&held[*at..])).unwrap_or(held.len());
        if cut > 0 {
            self.text(&std::mem::take(&mut before));
            self.text(&held[..cut]);
        }
        held.drain(..cut);
        self.state = State::Text { before, held };
    }

    fn feed_call(&mut self, mut call: Box<Call>, c: char) {
        let declared = &self.declared;
        let is_declared =
            |name: &str| declared.as_ref().is_none_or(|names| names.iter().any(|known| known == name));
        match call.push(c, is_declared, &mut self.out) {
            Progress::More => self.state = State::Call(call),
            Progress::Whole => {
                self.calls += 1;
                let held = String::new();
                self.state =
                    if self.form.close().is_some() { State::Closing { held } } else { State::After { held } };
            }
            Progress::Text(text) => {
                self.text(&text);
                self.feed(c);
            }
            Progress::Broken(rest) => {
                self.calls += 1;
                self.text(&rest);
                self.feed(c);
            }
        }
    }

    fn feed_closing(&mut self, mut held: String, c: char) {
        held.push(c);
        let close = self.form.close().expect("a form whose calls end with a tag");
        let tag = held.trim_start_matches(is_space);
        if tag == close {
            self.state = State::After { held: String::new() };
        } else if close.starts_with(tag) {
            self.state = State::Closing { held };
        } else {
            self.state = State::After { held: String::new() };
            held.chars().for_each(|c| self.feed(c));
        }
    }
}

fn is_space(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n' | '\r')
}
