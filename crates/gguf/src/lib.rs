//! Reads and writes GGUF files; trusts no number in them.
//!
//! A GGUF file (versions 2 and 3, little endian) is a header, a list of key-value pairs, a table of
//! tensors and one aligned data section. [`Gguf::parse`] reads all but the data from a byte slice,
//! [`GgufFile`] maps a file or a set of split files into memory and hands out the bytes of each
//! tensor, and [`Writer`] makes files; [`split`], [`merge`] and [`set`] make them out of others.
//!
//! Whatever the bytes are, reading ends in a value or in an [`Error`] that names the key or tensor
//! and what was found. No count from a file reserves more memory than the bytes that are left could
//! fill, no product or sum wraps, and nothing recurses on file data.

mod cursor;
mod edit;
mod element;
mod error;
mod file;
mod metadata;
mod parse;
mod strings;
mod tensor;
mod value;
mod writer;

pub use edit::{PartLimit, merge, set, split};
pub use element::ElementType;
pub use error::Error;
pub use file::{GgufFile, Residence, open};
pub use metadata::Metadata;
pub use parse::{ALIGNMENT_DEFAULT, Gguf};
pub use strings::StrArray;
pub use tensor::TensorInfo;
pub use value::{Array, Value};
pub use writer::{TensorSink, Writer};
