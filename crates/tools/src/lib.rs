//! Calls of tools in a model's text: found while it arrives, and forced by a grammar.
//!
//! - [`Form`]: how a family of models writes calls.
//! - [`Parser`]: text in, [`Event`]s out: text that is no call, calls with their name first and their arguments in
//!   pieces. However the text is cut, the same events come, but for where their pieces are cut.
//! - [`grammar()`]: the Lark grammar of an answer that must call a tool, with arguments that obey the tool's schema.
//!
//! What only looks like a call is text: it comes late, when that is known, and whole. No I/O and no state between
//! parsers.

mod call;
mod event;
mod form;
mod grammar;
mod parser;
mod scanner;

pub use event::Event;
pub use form::Form;
pub use grammar::{Choice, Tool, ToolError, grammar};
pub use parser::Parser;
