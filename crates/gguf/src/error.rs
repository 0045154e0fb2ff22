//! What can be wrong with a file, a key or a tensor.

use std::fmt;
use std::path::PathBuf;

use crate::element::removed_name;

/// A refusal to read or write: what is wrong, where, what was expected and what was found.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The operating system failed to open, map, read or write a file.
    #[error("{}: {error}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        error: std::io::Error,
    },
    /// The system does not keep a file's bytes in memory.
    #[error("{}: {bytes} bytes cannot be locked in memory: {error}", path.display())]
    Lock {
        /// The file, or the first part.
        path: PathBuf,
        /// Bytes of all parts.
        bytes: u64,
        /// What the system said.
        error: std::io::Error,
    },
    /// Writing the bytes of a file failed.
    #[error("writing failed: {error}")]
    Write {
        /// What the sink said.
        error: std::io::Error,
    },
    /// Another error, in this file.
    #[error("{}: {error}", path.display())]
    InFile {
        /// The file.
        path: PathBuf,
        /// What is wrong in it.
        error: Box<Error>,
    },
    /// The path is a folder, a pipe or a device.
    #[error("{}: not a regular file", path.display())]
    NotAFile {
        /// The path.
        path: PathBuf,
    },
    /// The first four bytes are others.
    #[error("not a GGUF file: it begins with {:?}, expected \"GGUF\"", String::from_utf8_lossy(found))]
    Magic {
        /// The first four bytes.
        found: [u8; 4],
    },
    /// A version of the format that is not read.
    #[error("GGUF version {found} is not supported: expected 2 or 3")]
    Version {
        /// The version in the file.
        found: u32,
    },
    /// The numbers in the file have their most significant byte first.
    #[error("big-endian GGUF file (version {version}): only little-endian files are supported")]
    BigEndian {
        /// The version, bytes swapped.
        version: u32,
    },
    /// The file ends before something that it announces.
    #[error("end of file: {what} at byte {offset} needs {needed} bytes, {left} are left")]
    EndOfFile {
        /// What is cut off.
        what: String,
        /// Where it begins.
        offset: u64,
        /// Its size.
        needed: u64,
        /// Bytes from there to the end of the file.
        left: u64,
    },
    /// A count or a length that the rest of the file cannot hold.
    #[error(
        "{what} at byte {offset} is {found}, but the {left} bytes left in the file hold at most {count_max}"
    )]
    Count {
        /// What is counted.
        what: String,
        /// Where the number is.
        offset: u64,
        /// The number.
        found: u64,
        /// The largest number that could be true.
        count_max: u64,
        /// Bytes after the number.
        left: u64,
    },
    /// More keys or tensors than any model has, though the file is long enough for them.
    #[error("{what} is {found}, at most {count_max} are supported")]
    TooMany {
        /// What is counted.
        what: &'static str,
        /// The number.
        found: u64,
        /// The largest number that is read.
        count_max: usize,
    },
    /// Text that is not UTF-8.
    #[error("{what} at byte {offset} is not UTF-8")]
    Utf8 {
        /// Which text.
        what: String,
        /// Where the text or the list of texts begins.
        offset: u64,
    },
    /// A key of no characters.
    #[error("key number {index} is empty")]
    KeyEmpty {
        /// Its place among the keys, from 0.
        index: u64,
    },
    /// A key or a tensor name longer than the format allows.
    #[error("{what} {} has {} bytes, at most {} are allowed", Shown(name), name.len(), crate::parse::NAME_BYTES_MAX)]
    NameTooLong {
        /// Key or tensor name.
        what: &'static str,
        /// The name.
        name: String,
    },
    /// A key that occurs twice.
    #[error("key {} occurs twice", Shown(key))]
    KeyTwice {
        /// The key.
        key: String,
    },
    /// A type number that no value can have.
    #[error("key {}: unknown value type {found}, expected 0 to 12", Shown(key))]
    ValueType {
        /// The key.
        key: String,
        /// The number, of the value or of the elements of an array.
        found: u32,
    },
    /// An array whose elements are arrays.
    #[error("key {}: an array of arrays (nesting) is not supported", Shown(key))]
    NestedArray {
        /// The key.
        key: String,
    },
    /// A boolean that is neither 0 nor 1.
    #[error("key {}: boolean with the value {found}, expected 0 or 1", Shown(key))]
    Bool {
        /// The key.
        key: String,
        /// The byte.
        found: u8,
    },
    /// An alignment that no data can have.
    #[error("key `general.alignment` is {found}, expected a power of two that is a multiple of 8")]
    Alignment {
        /// The value.
        found: u32,
    },
    /// A key that must be there is not.
    #[error("key {} is missing, expected {expected}", Shown(key))]
    KeyMissing {
        /// The key.
        key: String,
        /// What its value would be.
        expected: &'static str,
    },
    /// A key has a value of the wrong type or out of range.
    #[error("key {}: expected {expected}, found {found}", Shown(key))]
    KeyType {
        /// The key.
        key: String,
        /// Types and range that would do.
        expected: &'static str,
        /// Type and value.
        found: String,
    },
    /// A tensor name that occurs twice.
    #[error("tensor {} occurs twice", Shown(tensor))]
    TensorTwice {
        /// The tensor.
        tensor: String,
    },
    /// More dimensions than a tensor can have.
    #[error("tensor {}: n_dims is {found}, expected 0 to 4", Shown(tensor))]
    DimensionCount {
        /// The tensor.
        tensor: String,
        /// The number of dimensions.
        found: u64,
    },
    /// A number of elements or bytes that no computer can address.
    #[error("tensor {}: the size of {ty} {dims:?} does not fit in 63 bits", Shown(tensor))]
    TensorSize {
        /// The tensor.
        tensor: String,
        /// Its dimensions, fastest first.
        dims: Vec<u64>,
        /// Its element type.
        ty: &'static str,
    },
    /// A row that is no whole number of blocks.
    #[error(
        "tensor {}: rows of {} elements are no multiple of the {block} elements in a block of {ty} (dims {dims:?})",
        Shown(tensor), dims.first().unwrap_or(&1)
    )]
    TensorRow {
        /// The tensor.
        tensor: String,
        /// Its dimensions, fastest first.
        dims: Vec<u64>,
        /// Its element type.
        ty: &'static str,
        /// Elements in a block.
        block: u64,
    },
    /// An element type that is unknown, or that the format dropped.
    #[error("tensor {}: element type {found} is {}", Shown(tensor), unknown(*found))]
    ElementType {
        /// The tensor.
        tensor: String,
        /// The number in the file.
        found: u32,
    },
    /// Data that does not begin at a multiple of the alignment.
    #[error("tensor {}: offset {offset} is no multiple of the alignment {alignment}", Shown(tensor))]
    TensorOffset {
        /// The tensor.
        tensor: String,
        /// Its offset in the data section.
        offset: u64,
        /// The alignment of the file.
        alignment: u32,
    },
    /// Data that would lie past the end of the file.
    #[error(
        "tensor {}: data past the end of the file: dims {dims:?} take {bytes} bytes at offset {offset} of the data section, which begins at byte {data_offset} and has {data_bytes} bytes",
        Shown(tensor)
    )]
    TensorPastEnd {
        /// The tensor.
        tensor: String,
        /// Its dimensions, fastest first.
        dims: Vec<u64>,
        /// Its size.
        bytes: u64,
        /// Its offset in the data section.
        offset: u64,
        /// Where the data section begins.
        data_offset: u64,
        /// The size of the data section in the file.
        data_bytes: u64,
    },
    /// Two tensors that claim the same bytes.
    #[error("tensors {} and {} overlap at offset {offset} of the data section", Shown(first), Shown(second))]
    TensorOverlap {
        /// The tensor that begins first.
        first: String,
        /// The tensor that begins inside it.
        second: String,
        /// Where the second begins.
        offset: u64,
    },
    /// A part of a split model whose file name does not say where the other parts are.
    #[error(
        "{}: key `split.count` says {count} files, but the name does not end in -00001-of-{count:05}.gguf",
        path.display()
    )]
    SplitName {
        /// The file.
        path: PathBuf,
        /// What the file says.
        count: u32,
    },
    /// Parts of a split model that do not belong together.
    #[error("{}: key `{key}`: expected {expected}, found {found}", path.display())]
    Split {
        /// The file.
        path: PathBuf,
        /// The key that differs.
        key: &'static str,
        /// What the other parts or the name of the file demand.
        expected: u64,
        /// What the file says.
        found: String,
    },
    /// A key that no one may set: it says which part of a split model a file is.
    #[error("key {} says which part of a model a file is; splitting and merging set it", Shown(key))]
    KeyOfParts {
        /// The key.
        key: String,
    },
    /// A text that is no value of a type.
    #[error("{} is no value of type {ty}", Shown(text))]
    ValueText {
        /// The type that was asked for.
        ty: String,
        /// The text.
        text: String,
    },
    /// The writer was given more or fewer bytes than the tensor has.
    #[error("tensor {}: expected {expected} bytes of data, found {found}", Shown(tensor))]
    TensorData {
        /// The tensor.
        tensor: String,
        /// Its size.
        expected: u64,
        /// What was written for it.
        found: u64,
    },
}

impl Error {
    /// Says in which file the error is.
    pub(crate) fn in_file(self, path: &std::path::Path) -> Error {
        Error::InFile { path: path.to_owned(), error: Box::new(self) }
    }
}

fn unknown(id: u32) -> String {
    match removed_name(id) {
        Some(name) => format!("{name}, which the format no longer has"),
        None => "unknown".to_owned(),
    }
}

/// A name out of a file as a message can show it: on one line, without control characters, short.
pub(crate) struct Shown<'a>(pub &'a str);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const CHARS_MAX: usize = 80;
        let mut shown = String::new();
        for c in self.0.chars().take(CHARS_MAX) {
            match c {
                '\'' | '"' => shown.push(c),
                _ => shown.extend(c.escape_debug()),
            }
        }
        let more = if self.0.chars().nth(CHARS_MAX).is_some() { "..." } else { "" };
        write!(f, "`{shown}{more}`")
    }
}
