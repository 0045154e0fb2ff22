//! Why a run did not happen.

use crate::SeqId;

/// What was asked, what is there.
#[derive(Debug, thiserror::Error)]
pub enum RuntimeError {
    /// Nothing to compute.
    #[error("the batch is empty: at least one token is needed")]
    EmptyBatch,
    /// A token id outside the vocabulary.
    #[error("token number {index} is {id}, outside the vocabulary of {n_vocab}")]
    TokenOutOfRange {
        /// Its place in the item.
        index: usize,
        /// The id.
        id: u32,
        /// Tokens that there are.
        n_vocab: usize,
    },
    /// A sequence would grow past the context.
    #[error("{needed} positions do not fit in the context of {n_ctx}")]
    ContextFull {
        /// Positions that the sequence would have.
        needed: usize,
        /// Positions that there can be.
        n_ctx: usize,
    },
    /// Every page of the cache is in use.
    #[error("the cache has no free page: {pages} pages, all in use")]
    OutOfPages {
        /// Pages that there are.
        pages: usize,
    },
    /// A sequence that was never made or has been removed.
    #[error("there is no sequence {}", .0.0)]
    UnknownSequence(SeqId),
    /// A sequence cannot be cut to more than it has.
    #[error("sequence {} has {len} positions and cannot be cut to {to}", seq.0)]
    TruncateBeyond {
        /// The sequence.
        seq: SeqId,
        /// Its positions.
        len: usize,
        /// What was asked for.
        to: usize,
    },
    /// A sequence cannot be cut to where a sliding window has let go of what the next position sees.
    #[error(
        "sequence {} cannot be cut to {to}: its windows have let go of positions before; from {earliest} on it can, or to 0",
        seq.0
    )]
    WindowGone {
        /// The sequence.
        seq: SeqId,
        /// What was asked for.
        to: usize,
        /// The fewest positions that it can be cut to, beside none.
        earliest: usize,
    },
    /// A sequence that is to be restored has less than its next position would see.
    #[error(
        "a sequence of {len} positions whose windows begin at position {first}: expected a multiple of 32 up to {latest}"
    )]
    WindowMissing {
        /// Its positions.
        len: usize,
        /// Where its windows would begin.
        first: usize,
        /// Where they may begin at the latest.
        latest: usize,
    },
    /// A rebuild asked for another cache while sequences live in the old one.
    #[error("{what} is {exists} while the engine lives: it cannot become {asked}")]
    CacheChanged {
        /// Context or type.
        what: &'static str,
        /// As it is.
        exists: String,
        /// As asked.
        asked: String,
    },
    /// An engine with room for nothing.
    #[error("{what} is 0: at least 1 is needed")]
    Zero {
        /// Which size.
        what: &'static str,
    },
    /// Tokens to go on with, for a model that reads whole texts only.
    #[error("sequence {} has {len} positions: an encoder reads a text at once, and none is continued", seq.0)]
    Continued {
        /// The sequence.
        seq: SeqId,
        /// Positions that it would have had before.
        len: usize,
    },
    /// A text that does not fit in a batch, for a model that reads whole texts only.
    #[error(
        "a text of {tokens} tokens does not fit in a batch of {n_ubatch} with {n_outputs} rows: an encoder reads it at once"
    )]
    TextBeyondBatch {
        /// Tokens of the text.
        tokens: usize,
        /// Tokens of a batch.
        n_ubatch: usize,
        /// Rows of a batch that can be asked for.
        n_outputs: usize,
    },
    /// A hidden row that holds no numbers.
    #[error("the hidden row at position {position} of sequence {} holds {value} as element {element}", seq.0)]
    BadHidden {
        /// The sequence.
        seq: SeqId,
        /// The position.
        position: usize,
        /// Which element.
        element: usize,
        /// The value.
        value: f32,
    },
    /// Logits that are no numbers.
    #[error("the logits at position {position} of sequence {} hold {value} for token {token}", seq.0)]
    BadLogits {
        /// The sequence.
        seq: SeqId,
        /// The position.
        position: usize,
        /// The token.
        token: usize,
        /// The value.
        value: f32,
    },
    /// A call gave a result that it cannot have computed from its operands.
    #[error(
        "memory: {node} left {found:#010x} at byte {offset} of {value}: it read what nobody wrote or what was gone, or did not write all of its result"
    )]
    Poisoned {
        /// The node of the call.
        node: String,
        /// The value that it wrote.
        value: String,
        /// Where in the value.
        offset: usize,
        /// The bits there: no number, or what unused memory is filled with.
        found: u32,
    },
    /// A call changed a byte beside a value.
    #[error(
        "memory: {node} wrote beside {value}: byte {offset} of the arena was {expected:#04x} and is {found:#04x}"
    )]
    GuardChanged {
        /// The node of the call.
        node: String,
        /// The value whose guard it is.
        value: String,
        /// Where in the arena.
        offset: usize,
        /// What was there.
        expected: u8,
        /// What is there.
        found: u8,
    },
    /// A weight that the model names and the source does not have.
    #[error("weight {0} is not there")]
    MissingWeight(String),
    /// The model's graph could not be built.
    #[error(transparent)]
    Model(#[from] models::ModelError),
    /// The graph could not be compiled.
    #[error(transparent)]
    Compile(#[from] compile::CompileError),
    /// A device refused.
    #[error(transparent)]
    Backend(#[from] backend::BackendError),
}
