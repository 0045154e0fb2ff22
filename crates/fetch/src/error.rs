//! What can go wrong on the way to a file.

use std::io;
use std::path::PathBuf;

/// A download that did not happen: what was asked for, what was expected, what was found.
///
/// URLs are shown without their query, which can hold a signature.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A URL that cannot be asked.
    #[error("{url:?} is no URL that can be fetched: {why}")]
    Url {
        /// The text.
        url: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// A proxy that cannot be used.
    #[error("the proxy is no URL of a proxy, as in http://host:3128")]
    Proxy,
    /// A text that is no reference to a repository.
    #[error("{text:?} is no reference to a repository: {why} (expected ORG/REPO or ORG/REPO:QUANT)")]
    Reference {
        /// The text.
        text: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// A name that must not become a path.
    #[error("the file name {name:?} is refused: {why}")]
    Name {
        /// The name, as the server gave it.
        name: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// The server does not have it (404, 410).
    #[error("{url}: not found (status {status})")]
    NotFound {
        /// What was asked for.
        url: String,
        /// The server's answer.
        status: u16,
    },
    /// The server does not give it to everybody (401, 403).
    #[error("{url}: access denied (status {status}): {}", if *token {
        "the token has no access; a gated model needs its terms accepted first"
    } else {
        "private, gated or not there; a token may be needed"
    })]
    Denied {
        /// What was asked for.
        url: String,
        /// The server's answer.
        status: u16,
        /// Whether a token was sent along.
        token: bool,
    },
    /// Any other refusal of the server.
    #[error("{url}: the server answers with status {status}")]
    Status {
        /// What was asked for.
        url: String,
        /// The server's answer.
        status: u16,
    },
    /// A redirect that is not followed.
    #[error("{url}: redirect not followed: {why}")]
    Redirect {
        /// Who redirects.
        url: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// The connection failed, was cut or timed out, as often as was allowed.
    #[error("{url}: {why}")]
    Connection {
        /// What was asked for.
        url: String,
        /// What the last attempt ended with.
        why: String,
    },
    /// An answer that is not what the protocol says.
    #[error("{url}: unexpected answer: {why}")]
    Answer {
        /// What was asked for.
        url: String,
        /// What is wrong with it.
        why: String,
    },
    /// The file has another length than was promised.
    #[error("{url}: expected {expected} bytes, found {found}")]
    Length {
        /// What was asked for.
        url: String,
        /// The length that was promised.
        expected: u64,
        /// The length that there is.
        found: u64,
    },
    /// More bytes than are fetched.
    #[error("{url}: more than the {bytes_max} bytes that are allowed")]
    TooLarge {
        /// What was asked for.
        url: String,
        /// The limit.
        bytes_max: u64,
    },
    /// The file changed on the server while it was fetched, as often as attempts were allowed.
    #[error("{url}: the file changed on the server while it was fetched")]
    Changed {
        /// What was asked for.
        url: String,
    },
    /// The bytes are not those that the server promised. Nothing is kept.
    #[error("{url}: expected sha256 {expected}, found {found}; nothing kept")]
    Checksum {
        /// What was asked for.
        url: String,
        /// The checksum that was promised, in lower case.
        expected: String,
        /// That of the bytes.
        found: String,
    },
    /// Another process fetches the same file.
    #[error("{}: another process is fetching this file", path.display())]
    Busy {
        /// Where the file would be.
        path: PathBuf,
    },
    /// No room on the disk. The part that is there is kept, and the next download continues it.
    #[error(
        "{}: the disk is full after {done} bytes{}; make room and try again, the part is kept",
        path.display(),
        total.map(|n| format!(" of {n}")).unwrap_or_default()
    )]
    DiskFull {
        /// The part file.
        path: PathBuf,
        /// Bytes that are there.
        done: u64,
        /// Bytes of the file, if known.
        total: Option<u64>,
    },
    /// The operating system failed to make, read, write or rename a file.
    #[error("{}: {error}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        error: io::Error,
    },
    /// The callback asked to stop. The part that is there is kept.
    #[error("cancelled")]
    Cancelled,
    /// A repository without a file that fits.
    #[error("{repository}: no GGUF file{}; there {}", wanted.as_ref().map(|w| format!(" whose name has {w}")).unwrap_or_default(), listed(files))]
    NoFile {
        /// ORG/REPO.
        repository: String,
        /// What the name should have, if anything.
        wanted: Option<String>,
        /// The GGUF files that there are, a set of parts by its first.
        files: Vec<String>,
    },
    /// Several files fit.
    #[error("{repository}: several GGUF files fit: {}; name one by more of its name", files.join(", "))]
    Ambiguous {
        /// ORG/REPO.
        repository: String,
        /// Those that fit, a set of parts by its first.
        files: Vec<String>,
    },
    /// A set of parts with a gap.
    #[error("{repository}: part {part} of {count} of {first} is missing")]
    PartMissing {
        /// ORG/REPO.
        repository: String,
        /// The name of the set's first part.
        first: String,
        /// Which part, from 1.
        part: usize,
        /// Of how many.
        count: usize,
    },
}

fn listed(files: &[String]) -> String {
    if files.is_empty() { "is none".to_owned() } else { format!("are {}", files.join(", ")) }
}

/// Whether it makes sense to try again.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The next attempt may do better.
    Retry(Error),
    /// It will not.
    Final(Error),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Failure::Final(error)
    }
}
