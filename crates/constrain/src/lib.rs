//! Output that obeys: a JSON schema, a regular expression or a grammar says which tokens may come next.
//!
//! - [`Vocabulary`]: the bytes of a model's tokens as a trie; made once a model and shared.
//! - [`Constraint`]: what the output is to obey, compiled for a vocabulary: [`Constraint::json_schema`],
//!   [`Constraint::json_object`], [`Constraint::regex`], [`Constraint::lark`].
//! - [`Matcher`]: one output's place in it: [`Matcher::mask`] says which tokens may come next, [`Matcher::advance`] takes
//!   the one that was chosen.
//!
//! **Enforced or refused.** A schema that is accepted is obeyed by every output that is finished. What cannot be
//! enforced (`not`, `contains`, a format that is not known, a keyword that no one knows, a reference to another document)
//! is an error with the JSON pointer of that part; nothing is relaxed in silence. Where the language of a keyword is read
//! differently by different validators (`\d`, `.`, leap seconds), outputs are what all of them accept.
//!
//! A schema with keywords of one type only (`properties` without `type`) is taken to mean that type.
//!
//! **Bounded.** Sizes and depths have limits ([`limits`]), and so has the work of compiling and of each mask: an error,
//! no hang and no panic, whatever the input.
//!
//! Masks never allow control tokens; they allow tokens that end a generation exactly when the output may end. The grammar
//! engine is the crate `llguidance`. It turns panics of its own into errors, for which it puts a hook before the process's
//! panic hook, which goes on to see all others. This crate does no I/O and prints nothing.
//!
//! ```
//! use std::sync::Arc;
//! use constrain::{Constraint, Vocabulary};
//!
//! // Every byte is a token, and token 256 ends the output.
//! let bytes: Vec<[u8; 1]> = (0..=255).map(|byte| [byte]).collect();
//! let pieces = bytes.iter().map(|piece| Some(&piece[..])).chain([None]);
//! let vocabulary = Arc::new(Vocabulary::new(pieces, &[256])?);
//!
//! let constraint = Constraint::regex(&vocabulary, "yes|no")?;
//! let mut matcher = constraint.matcher();
//! assert_eq!(matcher.mask()?.iter().collect::<Vec<_>>(), [u32::from(b'n'), u32::from(b'y')]);
//! matcher.advance(u32::from(b'n'))?;
//! matcher.advance(u32::from(b'o'))?;
//! assert!(matcher.is_finished());
//! # Ok::<(), constrain::ConstrainError>(())
//! ```

mod error;
pub mod limits;

mod vocabulary;

mod constraint;
mod lark;
mod regex;
mod schema;

mod compile;

mod mask;
mod matcher;

pub use constraint::Constraint;
pub use error::ConstrainError;
/// Says whether a schema can be enforced, as far as that is known without a vocabulary: every keyword, reference and
/// pattern of it is looked at.
pub fn check_schema(schema: &serde_json::Value) -> Result<(), ConstrainError> {
    schema::lower(schema).map(|_| ())
}

pub use mask::Mask;
pub use matcher::Matcher;
pub use vocabulary::Vocabulary;
