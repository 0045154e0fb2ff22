//! Calls in text, however it is cut; grammars of calls.

mod grammars;
mod parsing;
