//! What can be wrong with a vocabulary or a text.

/// What is wrong with a vocabulary, or with a text that it cannot express.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The algorithm is not one of ours.
    #[error("tokenizer.ggml.model is {found:?}; supported are {supported}")]
    UnsupportedModel {
        /// The name in the file.
        found: String,
        /// The names we know, separated by commas.
        supported: String,
    },
    /// The pre-tokenizer is not named; guessing one would give wrong tokens in silence.
    #[error("tokenizer.ggml.pre is missing; known pre-tokenizers are {known}")]
    PreTokenizerMissing {
        /// The names we know, separated by commas.
        known: String,
    },
    /// The pre-tokenizer is not one of ours.
    #[error("tokenizer.ggml.pre is {found:?}; known pre-tokenizers are {known}")]
    PreTokenizerUnknown {
        /// The name in the file.
        found: String,
        /// The names we know, separated by commas.
        known: String,
    },
    /// There are no tokens.
    #[error("tokenizer.ggml.tokens is empty; expected at least one token")]
    VocabularyEmpty,
    /// More tokens or bytes than 32-bit ids and offsets can name.
    #[error("{what} holds {found}; at most {limit} are supported")]
    TooLarge {
        /// The list, or the text.
        what: &'static str,
        /// Its length.
        found: usize,
        /// The most that is supported.
        limit: usize,
    },
    /// One type a token, or none at all.
    #[error("tokenizer.ggml.token_type has {found} entries; expected {expected}, one a token")]
    TokenTypeCount {
        /// Number of types.
        found: usize,
        /// Number of tokens.
        expected: usize,
    },
    /// A token type outside 1 to 6.
    #[error("token {id} has the type {found}; expected 1 to 6")]
    TokenTypeUnknown {
        /// The token.
        id: u32,
        /// Its type in the file.
        found: i32,
    },
    /// Two tokens have the same text.
    #[error("tokens {first} and {second} are both {text:?}; expected different texts")]
    TokenDuplicate {
        /// The lower id.
        first: u32,
        /// The higher id.
        second: u32,
        /// Their text.
        text: String,
    },
    /// A normal token of a byte-level vocabulary is spelled with a character that names no byte.
    #[error("token {id}, {text:?}, has the character {found:?}, which names no byte")]
    TokenNotBytes {
        /// The token.
        id: u32,
        /// Its text.
        text: String,
        /// The character.
        found: char,
    },
    /// A byte token of a SentencePiece vocabulary does not name one.
    #[error("token {id}, {text:?}, is a byte; expected a name as <0x0A>")]
    TokenNotByte {
        /// The token.
        id: u32,
        /// Its text.
        text: String,
    },
    /// A SentencePiece vocabulary without scores has no order of merging.
    #[error("tokenizer.ggml.scores is missing; tokenizer.ggml.model {model:?} needs one a token")]
    ScoresMissing {
        /// The algorithm.
        model: String,
    },
    /// A WordPiece vocabulary has no token for what it cannot express.
    #[error("tokenizer.ggml.unknown_token_id is missing; tokenizer.ggml.model {model:?} needs one")]
    UnknownMissing {
        /// The algorithm.
        model: String,
    },
    /// One score a token, or none at all.
    #[error("tokenizer.ggml.scores has {found} entries; expected {expected}, one a token")]
    ScoreCount {
        /// Number of scores.
        found: usize,
        /// Number of tokens.
        expected: usize,
    },
    /// A score that cannot be compared.
    #[error("the score of token {id} is not a number")]
    ScoreNan {
        /// The token.
        id: u32,
    },
    /// An id of a special token is not in the vocabulary.
    #[error("{what} is {found}; expected less than {count}, the number of tokens")]
    IdOutOfRange {
        /// Which special token.
        what: &'static str,
        /// The id in the file.
        found: u32,
        /// Number of tokens.
        count: usize,
    },
    /// BOS or EOS is to be added, and the vocabulary names none.
    #[error("{flag} is true and {id} is missing")]
    SpecialMissing {
        /// The metadata that asks for it.
        flag: &'static str,
        /// The metadata that should name it.
        id: &'static str,
    },
    /// A merge is not two texts with a space between.
    #[error("merge {index} is {text:?}; expected two tokens with one space between")]
    MergeMalformed {
        /// Place in the list of merges.
        index: usize,
        /// The merge.
        text: String,
    },
    /// A merge names a token that is not in the vocabulary.
    #[error("merge {index} is {text:?}; its {part} {token:?} is not a token")]
    MergeUnknownToken {
        /// Place in the list of merges.
        index: usize,
        /// The merge.
        text: String,
        /// `left part`, `right part` or `result`.
        part: &'static str,
        /// The text that was looked for.
        token: String,
    },
    /// Two merges join the same two tokens.
    #[error("merges {first} and {second} are both {text:?}; expected different merges")]
    MergeDuplicate {
        /// The earlier one.
        first: usize,
        /// The later one.
        second: usize,
        /// The merge.
        text: String,
    },
    /// The vocabulary has no token for a byte of the text. (Real vocabularies lack bytes that were
    /// not in their training text; leaving the byte out would change the text in silence.)
    #[error("the vocabulary has no token for the byte 0x{byte:02X} at offset {offset} of the text")]
    NoTokenForByte {
        /// The byte.
        byte: u8,
        /// Its offset in the text.
        offset: usize,
    },
    /// A stop string without text would stop everywhere.
    #[error("stop string {index} is empty; expected at least one character")]
    StopEmpty {
        /// Place in the list of stop strings.
        index: usize,
    },
}
