//! Where messages and commands come from: a person at a terminal, or lines of a file.

use std::io::{self, BufRead, IsTerminal, StdinLock};
use std::path::PathBuf;

use anyhow::{Context, Result};
use rustyline::completion::Completer;
use rustyline::error::ReadlineError;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::history::{FileHistory, History};
use rustyline::validate::{ValidationContext, ValidationResult, Validator};
use rustyline::{Config, Editor, Helper};

use crate::tell;

/// Where messages and commands come from.
pub enum Input {
    Terminal(Box<Terminal>),
    Lines(io::Lines<StdinLock<'static>>),
}

/// An editor of lines.
pub struct Terminal {
    editor: Editor<Continues, FileHistory>,
    history_file: Option<PathBuf>,
}

impl Input {
    /// An editor where a person sits, else plain lines. What was typed is kept in the file if there is one.
    pub fn open(history_file: Option<PathBuf>) -> Result<Input> {
        if !is_interactive() {
            return Ok(Input::Lines(io::stdin().lock().lines()));
        }
        let config = Config::builder().auto_add_history(true).build();
        let mut editor = Editor::with_config(config).context("cannot use the terminal")?;
        editor.set_helper(Some(Continues));
        if let Some(path) = history_file.as_ref().filter(|path| path.exists()) {
            editor
                .load_history(path)
                .with_context(|| format!("--history-file: cannot read {}", path.display()))?;
        }
        Ok(Input::Terminal(Box::new(Terminal { editor, history_file })))
    }

    /// The next message or command; none at the end.
    pub fn next(&mut self) -> Result<Option<String>> {
        match self {
            Input::Terminal(terminal) => terminal.next(),
            Input::Lines(lines) => next_of(lines).context("cannot read standard input as text"),
        }
    }

    /// Writes the history, if that was asked for.
    pub fn close(self) -> Result<()> {
        let Input::Terminal(mut terminal) = self else { return Ok(()) };
        let Some(path) = terminal.history_file.filter(|_| !terminal.editor.history().is_empty()) else {
            return Ok(());
        };
        let saved = terminal.editor.save_history(&path);
        saved.with_context(|| format!("--history-file: cannot write {}", path.display()))
    }
}

/// Whether a person types and sees the answers.
pub fn is_interactive() -> bool {
    io::stdin().is_terminal() && io::stdout().is_terminal()
}

impl Terminal {
    fn next(&mut self) -> Result<Option<String>> {
        loop {
            match self.editor.readline("> ") {
                Ok(text) => return Ok(Some(joined(&text))),
                Err(ReadlineError::Interrupted) => tell("Ctrl-D or /exit ends the conversation"),
                Err(ReadlineError::Eof) => return Ok(None),
                Err(error) => return Err(error).context("cannot read from the terminal"),
            }
        }
    }
}

/// Lines that belong together.
fn next_of(lines: &mut impl Iterator<Item = io::Result<String>>) -> io::Result<Option<String>> {
    let mut text = String::new();
    for line in lines {
        text.push_str(&line?);
        if !goes_on(&text) {
            return Ok(Some(joined(&text)));
        }
        text.push('\n');
    }
    // A backslash at the very end has nothing to go on with.
    Ok((!text.is_empty()).then(|| joined(text.trim_end_matches(['\n', '\\']))))
}

/// Whether the text goes on in the next line.
fn goes_on(text: &str) -> bool {
    text.ends_with('\\')
}

/// The text without the backslashes that join its lines.
fn joined(text: &str) -> String {
    text.replace("\\\n", "\n")
}

/// Tells the editor that a line with a backslash at its end is not all.
struct Continues;

impl Validator for Continues {
    fn validate(&self, context: &mut ValidationContext) -> rustyline::Result<ValidationResult> {
        let more = goes_on(context.input());
        Ok(if more { ValidationResult::Incomplete } else { ValidationResult::Valid(None) })
    }
}

impl Completer for Continues {
    type Candidate = String;
}

impl Hinter for Continues {
    type Hint = String;
}

impl Highlighter for Continues {}
impl Helper for Continues {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_with_a_backslash_at_their_end_go_on() {
        let mut lines =
            ["one", "two\\", "and\\", "more", "", "last\\"].map(|line| Ok(line.to_owned())).into_iter();
        let mut next = || next_of(&mut lines).unwrap();
        assert_eq!(next().as_deref(), Some("one"));
        assert_eq!(next().as_deref(), Some("two\nand\nmore"));
        assert_eq!(next().as_deref(), Some(""));
        assert_eq!(next().as_deref(), Some("last"));
        assert_eq!(next(), None);
    }
}
