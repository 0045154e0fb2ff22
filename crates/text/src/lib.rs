//! Text to tokens and back, and chats to text.
//!
//! - [`Tokenizer`]: built from a [`VocabularyData`] (plain data; this crate knows no file format),
//!   encodes text to ids and gives the bytes of an id. Byte-level BPE, SentencePiece's BPE and
//!   WordPiece; one file an algorithm.
//! - [`StreamDecoder`]: bytes of tokens to whole characters while they arrive.
//! - [`StopMatcher`]: ends a text at the first of some stop strings while it arrives.
//! - [`ChatTemplate`]: messages to the text that a model was trained on.
//! - [`Segment`]: rendered text that remembers which parts a user wrote, so that control tokens
//!   are matched only in what the template itself wrote.
//!
//! The crate does no I/O, keeps no process-wide state, and its time on any text is close to linear.

mod error;
mod vocabulary;

mod token_table;

mod tokenizer;

mod special;

mod algorithm;

mod merge;
mod word_cache;

mod bpe;
mod bytes;
mod class;
mod pretokenizer;

mod spm;

mod word_piece;

mod stop;
mod stream;

mod template;

pub use error::Error;
pub use pretokenizer::PreTokenizer;
pub use stop::StopMatcher;
pub use stream::StreamDecoder;
pub use template::{
    ChatTemplate, DateTime, RenderOptions, TemplateError, TemplateErrorKind, named_template, template_names,
};
pub use tokenizer::{EncodeOptions, Segment, Tokenizer};
pub use vocabulary::{Strings, TokenKind, VocabularyData};
