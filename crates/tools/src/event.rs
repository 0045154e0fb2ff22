//! What a parser tells.

/// A piece of an answer. Calls are numbered from 0 in their order; one ends before the next begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// Text that is no call.
    Text(String),
    /// A call begins. Nothing of it has come before.
    CallBegin {
        /// Which call of the answer.
        index: usize,
        /// The tool.
        name: String,
    },
    /// The next piece of a call's arguments: JSON, as the model wrote it.
    ArgumentsDelta {
        /// Which call of the answer.
        index: usize,
        /// The piece, never empty.
        text: String,
    },
    /// Nothing more of a call comes.
    CallEnd {
        /// Which call of the answer.
        index: usize,
        /// Whether it is whole. One that was cut off is not, nor one whose arguments went on as no JSON can: the pieces that
        /// came are the beginning of some JSON then, and the rest comes as text.
        complete: bool,
    },
}

impl Event {
    /// Adds a piece to a list, as a part of the last one where both are pieces of the same.
    pub fn append_to(self, events: &mut Vec<Event>) {
        match (events.last_mut(), &self) {
            (_, Event::Text(text)) | (_, Event::ArgumentsDelta { text, .. }) if text.is_empty() => {}
            (Some(Event::Text(before)), Event::Text(text)) => before.push_str(text),
            (
                Some(Event::ArgumentsDelta { index: of, text: before }),
                Event::ArgumentsDelta { index, text },
            ) if of == index => before.push_str(text),
            _ => events.push(self),
        }
    }
}
