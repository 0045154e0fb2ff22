//! Why a saved sequence could not be written or read.

use graph::DType;
use runtime::RuntimeError;

/// What is wrong with a file that should hold a saved sequence, or with the place where it should be.
#[derive(Debug, thiserror::Error)]
pub enum SavedError {
    /// The system reads or writes no more.
    #[error("{0}")]
    Io(#[from] std::io::Error),
    /// A folder, a pipe or another thing that is no file.
    #[error("is no file")]
    NotAFile,
    /// Some other file.
    #[error("is no saved sequence: it begins with {:?}, expected {:?}", found.escape_ascii().to_string(), expected.escape_ascii().to_string())]
    NotSaved {
        /// Its first bytes.
        found: Vec<u8>,
        /// Those of a saved sequence.
        expected: &'static [u8],
    },
    /// A form of the file that is not known here.
    #[error("is of version {found}, expected {expected}")]
    Version {
        /// The file's.
        found: u32,
        /// The one that is known.
        expected: u32,
    },
    /// More bytes or fewer than the header says.
    #[error("has {found} bytes, expected {expected}: it was cut off or something was added")]
    Length {
        /// What there is.
        found: u64,
        /// What there should be.
        expected: u64,
    },
    /// Bytes that are not those that were written.
    #[error("is damaged: the {section} (bytes {from} to {to}) has the checksum {found}, expected {expected}")]
    Damaged {
        /// Which part of the file.
        section: &'static str,
        /// Its first byte.
        from: u64,
        /// The byte after its last.
        to: u64,
        /// The first bytes of the checksum of what is there, in hexadecimal digits.
        found: String,
        /// The same of what was written.
        expected: String,
    },
    /// Made with other numbers than this program computes.
    #[error("was made with numerics of version {found}, expected {expected}: its answers might differ")]
    Numerics {
        /// The file's.
        found: u32,
        /// This program's.
        expected: u32,
    },
    /// Of another model, or of the same one after a change.
    #[error("is of another model: {found_name:?} ({found}), expected {expected_name:?} ({expected})")]
    Model {
        /// The file's model by name.
        found_name: String,
        /// The first bytes of its hash.
        found: String,
        /// The session's model by name.
        expected_name: String,
        /// The first bytes of its hash.
        expected: String,
    },
    /// Positions turned otherwise.
    #[error("was made with other rotations: {found}, expected {expected}")]
    Rotation {
        /// The file's, as flags say them.
        found: String,
        /// The session's.
        expected: String,
    },
    /// Keys or values of another type.
    #[error("has {what} of type {found}, expected {expected}")]
    CacheType {
        /// Keys or values.
        what: &'static str,
        /// The file's.
        found: String,
        /// The session's.
        expected: DType,
    },
    /// One was computed with weights dequantized, the other not.
    #[error("was made in {found} mode, expected {expected} mode")]
    Mode {
        /// The file's.
        found: &'static str,
        /// The session's.
        expected: &'static str,
    },
    /// More positions than the session has.
    #[error(
        "holds {positions} positions, and the context has {n_ctx}: a context of {positions} or more would take it"
    )]
    Context {
        /// The file's.
        positions: u64,
        /// The session's.
        n_ctx: usize,
    },
    /// A number in the header that cannot be, though its checksum is right.
    #[error("states {what} {found}, expected {expected}")]
    Stated {
        /// Which number.
        what: &'static str,
        /// The file's.
        found: u64,
        /// What would be right.
        expected: String,
    },
    /// A token that the model does not have.
    #[error("holds token {id} at position {position}, outside the vocabulary of {n_vocab}")]
    Token {
        /// Its place.
        position: usize,
        /// The id.
        id: u32,
        /// Tokens that there are.
        n_vocab: usize,
    },
    /// The cache has no room, or refuses what the file says.
    #[error(transparent)]
    Runtime(#[from] RuntimeError),
}

impl SavedError {
    /// Whether the file is a saved sequence of this program's form: one that is damaged or belongs to something else may be
    /// written anew, and any other file is somebody's.
    pub fn is_of_a_saved_sequence(&self) -> bool {
        !matches!(self, SavedError::Io(_) | SavedError::NotAFile | SavedError::NotSaved { .. })
    }
}
