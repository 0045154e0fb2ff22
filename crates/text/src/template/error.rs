//! What can be wrong with a template or a conversation.

use std::error::Error as _;

use minijinja::ErrorKind;

/// Why a template cannot be used, or refuses a chat.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}{message}{}", place(*line, *column), of_message(*message_index))]
pub struct TemplateError {
    /// What kind of failure it is.
    pub kind: TemplateErrorKind,
    /// Line in the template, from 1; 0 where unknown.
    pub line: usize,
    /// Column in characters, from 1; 0 where unknown.
    pub column: usize,
    /// What is wrong; of a refusal, the text of the template.
    pub message: String,
    /// The message of the chat that the template read last before it failed, from 0; none where the
    /// template is at fault or read no message.
    pub message_index: Option<usize>,
}

/// Kinds of [`TemplateError`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TemplateErrorKind {
    /// The template is no valid Jinja.
    Syntax,
    /// The template itself refused the chat (`raise_exception`).
    Raised,
    /// The template did more work than one rendering may.
    TooMuchWork,
    /// A message holds control text that the template works on, so it cannot be kept apart.
    ControlText,
    /// The template failed on these messages.
    Render,
}

/// Both from 1.
fn line_and_column(source: &str, offset: usize) -> Option<(usize, usize)> {
    let before = source.get(..offset)?;
    let line_start = before.rfind('\n').map_or(0, |at| at + 1);
    Some((before.matches('\n').count() + 1, before[line_start..].chars().count() + 1))
}

fn place(line: usize, column: usize) -> String {
    match (line, column) {
        (0, _) => "chat template: ".to_owned(),
        (_, 0) => format!("chat template, line {line}: "),
        _ => format!("chat template, line {line}, column {column}: "),
    }
}

fn of_message(index: Option<usize>) -> String {
    index.map_or_else(String::new, |index| format!(" (messages[{index}])"))
}

/// The text of a template's refusal, found again behind the engine's own error.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Raised(String);

pub(super) fn raise_exception(message: String) -> Result<String, minijinja::Error> {
    let error = minijinja::Error::new(ErrorKind::InvalidOperation, message.clone());
    Err(error.with_source(Raised(message)))
}

impl TemplateError {
    /// Of the engine; `original` tells the offset in the source of one in what the engine was given.
    pub(super) fn new(
        error: &minijinja::Error,
        source: &str,
        original: impl Fn(usize) -> usize,
    ) -> TemplateError {
        // An error inside a macro is wrapped in one of the call; the innermost one says most.
        let mut innermost = error;
        let mut raised = None;
        let mut cause = error.source();
        while let Some(found) = cause {
            if let Some(error) = found.downcast_ref::<minijinja::Error>() {
                innermost = error;
            }
            raised = found.downcast_ref::<Raised>().or(raised);
            cause = found.source();
        }
        let start = innermost.range().map(|range| original(range.start));
        let place = start.and_then(|start| line_and_column(source, start));
        let (line, column) = place.unwrap_or((innermost.line().unwrap_or(0), 0));
        let kind = match innermost.kind() {
            _ if raised.is_some() => TemplateErrorKind::Raised,
            ErrorKind::SyntaxError => TemplateErrorKind::Syntax,
            ErrorKind::OutOfFuel => TemplateErrorKind::TooMuchWork,
            _ => TemplateErrorKind::Render,
        };
        let message = match (raised, innermost.detail()) {
            (Some(Raised(message)), _) => message.clone(),
            (None, Some(detail)) => format!("{}: {detail}", innermost.kind()),
            (None, None) => innermost.kind().to_string(),
        };
        TemplateError { kind, line, column, message, message_index: None }
    }

    pub(super) fn too_much(source: &str, offset: usize, what: &str) -> TemplateError {
        let (line, column) = line_and_column(source, offset).unwrap_or((0, 0));
        let message = format!("{what}, which is too much to compile");
        TemplateError { kind: TemplateErrorKind::Syntax, line, column, message, message_index: None }
    }

    pub(super) fn no_stack(bytes: usize, error: &std::io::Error) -> TemplateError {
        let message = format!("a stack of {bytes} bytes cannot be had: {error}");
        TemplateError { kind: TemplateErrorKind::Render, line: 0, column: 0, message, message_index: None }
    }

    pub(super) fn control_text(text: &str) -> TemplateError {
        TemplateError {
            kind: TemplateErrorKind::ControlText,
            line: 0,
            column: 0,
            message: format!(
                "a message holds the control text {text:?} and the template works on it, so it \
                 cannot be told from the template's own"
            ),
            message_index: None,
        }
    }
}
