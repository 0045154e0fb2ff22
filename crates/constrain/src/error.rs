//! Why something cannot be enforced, or an output cannot go on.

/// What went wrong, and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConstrainError {
    /// A keyword that cannot be enforced.
    #[error("schema at {}: {keyword} cannot be enforced: {why}", place(pointer))]
    Unsupported {
        /// JSON pointer of the keyword.
        pointer: String,
        /// The keyword.
        keyword: String,
        /// What stands against it.
        why: String,
    },
    /// Not a schema.
    #[error("schema at {}: expected {expected}, found {found}", place(pointer))]
    Invalid {
        /// JSON pointer of what is wrong.
        pointer: String,
        /// What would be right.
        expected: String,
        /// What there is.
        found: String,
    },
    /// A reference that leads nowhere, or to another document.
    #[error("schema at {}: the reference {target:?} {why}", place(pointer))]
    Reference {
        /// JSON pointer of the reference.
        pointer: String,
        /// What it names.
        target: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// A schema that no value obeys, or whose parts cannot be joined.
    #[error("schema at {}: {message}", place(pointer))]
    Schema {
        /// JSON pointer of the smallest part that cannot be compiled.
        pointer: String,
        /// What the grammar engine says.
        message: String,
    },
    /// A regular expression that is wrong, or that no automaton can hold.
    #[error("regular expression: {0}")]
    Regex(String),
    /// A grammar that is wrong.
    #[error("grammar: {0}")]
    Grammar(String),
    /// Larger than is allowed.
    #[error("{what}: {found}, expected {limit} at most")]
    TooLarge {
        /// What is too large.
        what: &'static str,
        /// How large it is.
        found: usize,
        /// How large it may be.
        limit: usize,
    },
    /// Compiling or matching took more work or memory than it may.
    #[error("too much work: {0}")]
    TooComplex(String),
    /// A vocabulary that cannot be used.
    #[error("vocabulary: {0}")]
    Vocabulary(String),
    /// A token that may not come here.
    #[error("token {token} is not allowed here")]
    NotAllowed {
        /// The token.
        token: u32,
    },
    /// No token of the vocabulary goes on, and the output may not end here.
    #[error("no token of the vocabulary can follow, and the output is not complete: {0}")]
    DeadEnd(String),
}

impl ConstrainError {
    /// JSON pointer of the part of the schema that is at fault, if it is one; the empty string is the whole schema.
    pub fn pointer(&self) -> Option<&str> {
        match self {
            ConstrainError::Unsupported { pointer, .. }
            | ConstrainError::Invalid { pointer, .. }
            | ConstrainError::Reference { pointer, .. }
            | ConstrainError::Schema { pointer, .. } => Some(pointer),
            _ => None,
        }
    }

    /// The keyword that cannot be enforced, if it is one.
    pub fn keyword(&self) -> Option<&str> {
        match self {
            ConstrainError::Unsupported { keyword, .. } => Some(keyword),
            _ => None,
        }
    }
}

fn place(pointer: &str) -> &str {
    if pointer.is_empty() { "its root" } else { pointer }
}
