//! What a device reports.

/// Why a device could not do what it was asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BackendError {
    /// No kernel for this call: a program compiled for another device.
    #[error("{device}: no kernel for {call}: {reason}")]
    Unsupported {
        /// The device.
        device: String,
        /// The call.
        call: String,
        /// What is missing.
        reason: String,
    },
    /// The system did not give the memory.
    #[error("{device}: cannot reserve {bytes} bytes for {what}: {reason}")]
    OutOfMemory {
        /// The device.
        device: String,
        /// What for.
        what: String,
        /// How much.
        bytes: usize,
        /// The system's words.
        reason: String,
    },
    /// A region that exists was asked for with another shape, type or size.
    #[error("region {name}: asked for {asked}, but it exists as {exists}")]
    RegionMismatch {
        /// The region.
        name: String,
        /// What was asked for.
        asked: String,
        /// What exists.
        exists: String,
    },
    /// A store past the end of the context.
    #[error("position {position} is beyond the context of {context}")]
    PositionBeyondContext {
        /// The position.
        position: i64,
        /// Positions that there are.
        context: usize,
    },
    /// An index in the inputs of a run points outside what it indexes.
    #[error("{call}: {what} {index} is outside 0..{count}")]
    Index {
        /// The call.
        call: String,
        /// What is indexed.
        what: &'static str,
        /// The index.
        index: i64,
        /// How many there are.
        count: usize,
    },
    /// A window that does not lie in the arena.
    #[error("window at {offset} of {bytes} bytes is outside the arena of {arena} bytes")]
    Window {
        /// Where it begins.
        offset: usize,
        /// How long it is.
        bytes: usize,
        /// How large the arena is.
        arena: usize,
    },
    /// A region or weight that was never made known.
    #[error("{what} is not known to {device}")]
    Unknown {
        /// The device.
        device: String,
        /// The region or weight.
        what: String,
    },
}
