//! A call while it arrives.

use crate::Event;
use crate::scanner::{Scanner, Step};

/// Keys of a call's object; one that stands alone has no others.
const KEYS: [&str; 5] = ["name", "arguments", "parameters", "id", "type"];

/// What has come of a call.
pub(crate) struct Call {
    index: usize,
    /// All that has come, with what stood before the object.
    raw: String,
    /// Whether a tag said that it is a call.
    tagged: bool,
    scanner: Scanner,
    /// Where the key or value that is being read begins.
    part: usize,
    key: String,
    name: Option<String>,
    /// Where the arguments begin and, once they are whole, end.
    arguments: Option<(usize, Option<usize>)>,
    /// Up to where they were given out; none before the call has begun.
    sent: Option<usize>,
}

/// What a character makes of a call.
pub(crate) enum Progress {
    /// More is to come.
    More,
    /// It is whole.
    Whole,
    /// It is no call: all of this is text, the character aside.
    Text(String),
    /// It began and cannot go on; this much behind its arguments is text, the character aside.
    Broken(String),
}

impl Call {
    /// `before` is what stood before the brace that begins the object.
    pub(crate) fn new(index: usize, before: String, tagged: bool) -> Call {
        Call {
            index,
            raw: before + "{",
            tagged,
            scanner: Scanner::new(),
            part: 0,
            key: String::new(),
            name: None,
            arguments: None,
            sent: None,
        }
    }

    /// Takes the next character. `is_declared` says whether there is a tool of that name.
    pub(crate) fn push(
        &mut self,
        c: char,
        is_declared: impl Fn(&str) -> bool,
        out: &mut Vec<Event>,
    ) -> Progress {
        let at = self.raw.len();
        let Some(step) = self.scanner.step(c) else { return self.fail(out) };
        self.raw.push(c);
        let end = self.raw.len();
        let fits = match step {
            Step::Inside => true,
            Step::KeyBegin => {
                self.part = at;
                true
            }
            Step::KeyEnd => self.take_key(end),
            Step::ValueBegin => self.begin_value(at, c),
            Step::ValueEnd => self.end_value(end, &is_declared),
            Step::End if self.sent.is_some() => {
                self.flush(out);
                Event::CallEnd { index: self.index, complete: true }.append_to(out);
                return Progress::Whole;
            }
            Step::End => return self.end_without_arguments(out),
        };
        if !fits {
            self.raw.pop();
            return self.fail(out);
        }
        if let (None, Some(name), Some((begin, _))) = (self.sent, &self.name, self.arguments) {
            Event::CallBegin { index: self.index, name: name.clone() }.append_to(out);
            self.sent = Some(begin);
        }
        Progress::More
    }

    /// Gives out what has come of the arguments.
    pub(crate) fn flush(&mut self, out: &mut Vec<Event>) {
        if let (Some(sent), Some((_, end))) = (self.sent, self.arguments) {
            let end = end.unwrap_or(self.raw.len());
            Event::ArgumentsDelta { index: self.index, text: self.raw[sent..end].to_owned() }.append_to(out);
            self.sent = Some(end);
        }
    }

    /// The answer ends, or the call cannot go on: what was text, and whether the call had begun.
    pub(crate) fn cut(&mut self, out: &mut Vec<Event>) -> (String, bool) {
        self.flush(out);
        match (self.sent, self.arguments) {
            (Some(_), Some((_, end))) => {
                Event::CallEnd { index: self.index, complete: false }.append_to(out);
                let rest = end.map_or("", |end| &self.raw[end..]);
                (rest.to_owned(), true)
            }
            _ => (std::mem::take(&mut self.raw), false),
        }
    }

    fn fail(&mut self, out: &mut Vec<Event>) -> Progress {
        match self.cut(out) {
            (rest, true) => Progress::Broken(rest),
            (text, false) => Progress::Text(text),
        }
    }

    fn take_key(&mut self, end: usize) -> bool {
        let Ok(key) = serde_json::from_str::<String>(&self.raw[self.part..end]) else { return false };
        let is_again = match key.as_str() {
            "name" => self.name.is_some(),
            "arguments" | "parameters" => self.arguments.is_some(),
            _ => false,
        };
        let is_known = self.tagged || KEYS.contains(&key.as_str());
        self.key = key;
        is_known && !is_again
    }

    fn begin_value(&mut self, at: usize, c: char) -> bool {
        self.part = at;
        match self.key.as_str() {
            "name" => c == '"',
            "arguments" | "parameters" => {
                self.arguments = Some((at, None));
                c == '{'
            }
            _ => true,
        }
    }

    fn end_value(&mut self, end: usize, is_declared: impl Fn(&str) -> bool) -> bool {
        match (self.key.as_str(), &mut self.arguments) {
            ("name", _) => {
                let name = serde_json::from_str::<String>(&self.raw[self.part..end]).unwrap_or_default();
                let fits = !name.is_empty() && (self.tagged || is_declared(&name));
                self.name = Some(name).filter(|_| fits);
                fits
            }
            ("arguments" | "parameters", Some((_, whole))) => {
                *whole = Some(end);
                true
            }
            _ => true,
        }
    }

    /// Where a tag says that it is a call, one without arguments has none.
    fn end_without_arguments(&mut self, out: &mut Vec<Event>) -> Progress {
        let index = self.index;
        match self.name.take().filter(|_| self.tagged && self.arguments.is_none()) {
            None => {
                // The last brace is text as well, and the character of `Progress::Text` is not in it.
                self.raw.pop();
                Progress::Text(std::mem::take(&mut self.raw))
            }
            Some(name) => {
                Event::CallBegin { index, name }.append_to(out);
                Event::ArgumentsDelta { index, text: "{}".to_owned() }.append_to(out);
                Event::CallEnd { index, complete: true }.append_to(out);
                Progress::Whole
            }
        }
    }
}
