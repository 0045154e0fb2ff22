//! How large things may be, and how much work they may make.

use llguidance::api::ParserLimits;

/// Values (objects, lists, strings, numbers) in a schema.
pub const SCHEMA_VALUES: usize = 20_000;

/// Levels of a schema, counted as objects and lists inside each other.
pub const SCHEMA_DEPTH: usize = 96;

/// Parts of a schema after references are followed.
pub const SCHEMA_PARTS: usize = 20_000;

/// Alternatives of a `oneOf`.
pub const ALTERNATIVES: usize = 256;

/// Bytes of all names and texts in a schema.
pub const SCHEMA_BYTES: usize = 1 << 20;

/// Bytes of a regular expression.
pub const REGEX_BYTES: usize = 16 << 10;

/// Levels of groups in a regular expression.
pub const REGEX_DEPTH: usize = 64;

/// Bytes of a grammar.
pub const GRAMMAR_BYTES: usize = 256 << 10;

/// Levels of brackets in a grammar.
pub const GRAMMAR_DEPTH: usize = 64;

/// Stack of the thread that compiles, in bytes: address space, of which little is touched. What is compiled may be as deep
/// as the limits above allow.
pub(crate) const COMPILE_STACK: usize = 256 << 20;

/// Work of the grammar engine. About a second for compiling and 20 ms a mask, where most take a few.
pub(crate) fn engine() -> ParserLimits {
    ParserLimits {
        // A state takes one or two KiB.
        max_lexer_states: 50_000,
        verbose_errors: false,
        ..ParserLimits::default()
    }
}
