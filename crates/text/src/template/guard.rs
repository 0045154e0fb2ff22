//! Keeps control text of messages apart from that of the template.
//!
//! A private character, the mark, is put into the control texts of messages before rendering and
//! taken out of the result; where one stood, the text is the user's. Messages without control text,
//! nearly all, are rendered as they are. The mark is put where the template does not notice it: the
//! result without marks must be the rendering of the messages without marks.

use std::ops::Range;

use minijinja::Value;
use minijinja::value::Serde;
use serde_json::{Map, Value as Json};

use super::{ChatTemplate, RenderOptions, TemplateError};
use crate::{Segment, Tokenizer};

/// Where a mark stands to the control text.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// After its first character: nothing can take it for markup.
    Inside,
    /// Before it: a template may find and cut it.
    Before,
    /// After it: a template may begin with it.
    After,
}

pub(super) fn render_segments(
    template: &ChatTemplate,
    messages: &Json,
    options: &RenderOptions,
    tokenizer: &Tokenizer,
) -> Result<Vec<Segment>, TemplateError> {
    let plain = template.render_here(messages, options)?;
    let mut found = Found { tokenizer, first: None, marks_used: Vec::new() };
    found.look(messages);
    options.tools.into_iter().for_each(|tools| found.look(tools));
    options.extra.into_iter().for_each(|extra| found.look_in_map(extra));
    let Some(first) = found.first else {
        return Ok(vec![Segment { text: plain, from_user: false }]);
    };
    // The template is looked at too, so that the mark occurs nowhere but where it was put.
    let unused = |mark: &char| !found.marks_used.contains(mark) && !template.source.contains(*mark);
    let mark = ('\u{F0000}'..='\u{FFFFD}').find(unused);
    let mark = mark.ok_or_else(|| TemplateError::control_text(&first))?;

    for place in [Place::Inside, Place::Before, Place::After] {
        let marker = Marker { tokenizer, mark, place };
        let tools = options.tools.map(|tools| marker.value(tools));
        let extra = options.extra.map(|extra| marker.map(extra));
        let marked_options = RenderOptions { tools: tools.as_ref(), extra: extra.as_ref(), ..*options };
        // A template may stumble over a mark; another place may do.
        let marked_messages = Value::from(Serde(marker.value(messages)));
        let Ok(marked) = template.render_once(marked_messages, &marked_options) else { continue };
        let (text, protected) = marker.take_out(&marked);
        if text == plain {
            return Ok(segments(&text, &protected));
        }
    }
    Err(TemplateError::control_text(&first))
}

/// What has to be known of all strings before one is marked.
struct Found<'a> {
    tokenizer: &'a Tokenizer,
    // The first control text, or a beginning of one that ends a string.
    first: Option<String>,
    marks_used: Vec<char>,
}

impl Found<'_> {
    fn look(&mut self, value: &Json) {
        match value {
            Json::String(text) => self.look_in_text(text),
            Json::Array(values) => values.iter().for_each(|value| self.look(value)),
            Json::Object(map) => self.look_in_map(map),
            Json::Null | Json::Bool(_) | Json::Number(_) => {}
        }
    }

    fn look_in_map(&mut self, map: &Map<String, Json>) {
        for (key, value) in map {
            self.look_in_text(key);
            self.look(value);
        }
    }

    fn look_in_text(&mut self, text: &str) {
        if self.first.is_none() {
            let range = self.tokenizer.markup_in(text).into_iter().next();
            self.first = range.map(|range| text[range].to_owned());
        }
        for char in text.chars().filter(|char| ('\u{F0000}'..='\u{FFFFD}').contains(char)) {
            if !self.marks_used.contains(&char) {
                self.marks_used.push(char);
            }
        }
    }
}

struct Marker<'a> {
    tokenizer: &'a Tokenizer,
    mark: char,
    place: Place,
}

impl Marker<'_> {
    fn value(&self, value: &Json) -> Json {
        match value {
            Json::String(text) => Json::String(self.text(text)),
            Json::Array(values) => values.iter().map(|value| self.value(value)).collect(),
            Json::Object(map) => Json::Object(self.map(map)),
            Json::Null | Json::Bool(_) | Json::Number(_) => value.clone(),
        }
    }

    fn map(&self, map: &Map<String, Json>) -> Map<String, Json> {
        map.iter().map(|(key, value)| (self.text(key), self.value(value))).collect()
    }

    fn text(&self, text: &str) -> String {
        let mut places: Vec<usize> = Vec::new();
        for range in self.tokenizer.markup_in(text) {
            places.push(match self.place {
                Place::Inside => range.start + first_char_len(&text[range]),
                Place::Before => range.start,
                Place::After => range.end,
            });
        }
        places.sort_unstable();
        places.dedup();
        let mut marked = String::with_capacity(text.len() + places.len() * self.mark.len_utf8());
        let mut done = 0;
        for place in places {
            marked.push_str(&text[done..place]);
            marked.push(self.mark);
            done = place;
        }
        marked.push_str(&text[done..]);
        marked
    }

    /// The text without marks, and the characters of it that the marks say are the user's: one of
    /// each control text is enough for that not to be markup.
    fn take_out(&self, marked: &str) -> (String, Vec<Range<usize>>) {
        let mut text = String::with_capacity(marked.len());
        let mut protected: Vec<Range<usize>> = Vec::new();
        let mut parts = marked.split(self.mark).peekable();
        while let Some(part) = parts.next() {
            text.push_str(part);
            let Some(rest) = parts.peek() else { break };
            let at = text.len();
            let range = match self.place {
                Place::Inside | Place::After => at - text.chars().next_back().map_or(0, char::len_utf8)..at,
                // Two marks side by side would hide the character, but places differ.
                Place::Before => at..at + first_char_len(rest),
            };
            match protected.last_mut() {
                Some(last) if last.end >= range.start => last.end = last.end.max(range.end),
                _ => protected.push(range),
            }
        }
        (text, protected)
    }
}

fn first_char_len(text: &str) -> usize {
    text.chars().next().map_or(0, char::len_utf8)
}

fn segments(text: &str, protected: &[Range<usize>]) -> Vec<Segment> {
    let mut segments = Vec::new();
    let mut push = |range: Range<usize>, from_user| {
        if !range.is_empty() {
            segments.push(Segment { text: text[range].to_owned(), from_user });
        }
    };
    let mut done = 0;
    for range in protected {
        push(done..range.start, false);
        push(range.clone(), true);
        done = range.end;
    }
    push(done..text.len(), false);
    segments
}
