//! How models write calls.

/// How a family of models writes calls. In all of them a call is an object with `name` and `arguments` (or `parameters`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// `<tool_call>{"name": ..., "arguments": ...}</tool_call>`, anywhere and several: Hermes, Qwen.
    Hermes,
    /// `{"name": ..., "parameters": ...}` as the whole answer, behind `<|python_tag|>` or not; several with `;` or white
    /// space between them: Llama 3.
    Llama3,
    /// `{"name": ..., "arguments": ...}` as the whole answer, several with white space between them.
    Json,
}

impl Form {
    /// What a call begins with, if it begins with anything.
    pub(crate) fn open(self) -> Option<&'static str> {
        match self {
            Form::Hermes => Some("<tool_call>"),
            Form::Llama3 => Some("<|python_tag|>"),
            Form::Json => None,
        }
    }

    /// What a call ends with.
    pub(crate) fn close(self) -> Option<&'static str> {
        match self {
            Form::Hermes => Some("</tool_call>"),
            Form::Llama3 | Form::Json => None,
        }
    }

    /// Whether an answer that begins with an object may be a call.
    pub(crate) fn is_bare(self) -> bool {
        self != Form::Hermes
    }

    /// What stands between calls beside white space.
    pub(crate) fn separator(self) -> Option<char> {
        (self == Form::Llama3).then_some(';')
    }

    /// The key of the arguments, where the form's models were taught one.
    pub(crate) fn arguments_key(self) -> &'static str {
        if self == Form::Llama3 { "parameters" } else { "arguments" }
    }
}
