//! What a tokenizer is made of, as plain data.

use crate::Error;

/// A list of strings that lies wherever its owner keeps it.
pub trait Strings {
    /// Number of strings.
    fn len(&self) -> usize;

    /// The string at `index`, which is less than [`Strings::len`].
    fn get(&self, index: usize) -> &str;

    /// Whether there are none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl<S: AsRef<str>> Strings for Vec<S> {
    fn len(&self) -> usize {
        self.as_slice().len()
    }
    fn get(&self, index: usize) -> &str {
        self[index].as_ref()
    }
}

impl<S: AsRef<str>> Strings for &[S] {
    fn len(&self) -> usize {
        (**self).len()
    }
    fn get(&self, index: usize) -> &str {
        self[index].as_ref()
    }
}

impl<S: AsRef<str>, const N: usize> Strings for [S; N] {
    fn len(&self) -> usize {
        N
    }
    fn get(&self, index: usize) -> &str {
        self[index].as_ref()
    }
}

/// The tokenizer's metadata as a model file states it. Nothing in it is trusted.
#[derive(Clone, Copy)]
pub struct VocabularyData<'a> {
    /// The algorithm, `tokenizer.ggml.model`.
    pub model: &'a str,
    /// The pre-tokenizer of byte-level BPE, `tokenizer.ggml.pre`.
    pub pre: Option<&'a str>,
    /// The text of each token, as spelled in the file.
    pub tokens: &'a dyn Strings,
    /// One [`TokenKind`] a token as a number; absent: all are normal.
    pub token_types: Option<&'a [i32]>,
    /// One score a token, the highest is merged first; SentencePiece vocabularies need them.
    pub scores: Option<&'a [f32]>,
    /// The merges of BPE, best first, each `left right`.
    pub merges: &'a dyn Strings,
    /// Begin of sequence.
    pub bos: Option<u32>,
    /// End of sequence.
    pub eos: Option<u32>,
    /// End of turn.
    pub eot: Option<u32>,
    /// What a text of an encoder begins with; absent: as BOS.
    pub cls: Option<u32>,
    /// What a text of an encoder ends with; absent: as EOS.
    pub sep: Option<u32>,
    /// What stands for unknown text.
    pub unk: Option<u32>,
    /// Padding.
    pub pad: Option<u32>,
    /// Further tokens that end a generation, beside `eos`, `eot` and control tokens with usual names.
    pub eog: &'a [u32],
    /// Whether encoding adds BOS; absent: as the algorithm and pre-tokenizer usually do.
    pub add_bos: Option<bool>,
    /// Whether encoding adds EOS; absent: only WordPiece does.
    pub add_eos: Option<bool>,
    /// Whether SentencePiece text begins with a space that was not written; absent: yes.
    pub add_space_prefix: Option<bool>,
}

impl Default for VocabularyData<'_> {
    /// No model, no tokens.
    fn default() -> Self {
        const NONE: &[&str; 0] = &[];
        VocabularyData {
            model: "",
            pre: None,
            tokens: NONE,
            token_types: None,
            scores: None,
            merges: NONE,
            bos: None,
            eos: None,
            eot: None,
            cls: None,
            sep: None,
            unk: None,
            pad: None,
            eog: &[],
            add_bos: None,
            add_eos: None,
            add_space_prefix: None,
        }
    }
}

impl VocabularyData<'_> {
    /// Checks what has to agree with the number of tokens.
    pub(crate) fn check(&self, count: usize) -> Result<(), Error> {
        self.check_ids(count)?;
        self.check_scores(count)
    }

    fn check_ids(&self, count: usize) -> Result<(), Error> {
        let named = [
            ("tokenizer.ggml.bos_token_id", self.bos),
            ("tokenizer.ggml.eos_token_id", self.eos),
            ("tokenizer.ggml.eot_token_id", self.eot),
            ("tokenizer.ggml.cls_token_id", self.cls),
            ("tokenizer.ggml.seperator_token_id", self.sep),
            ("tokenizer.ggml.unknown_token_id", self.unk),
            ("tokenizer.ggml.padding_token_id", self.pad),
        ];
        let further = self.eog.iter().map(|&id| ("a token that ends generation", Some(id)));
        for (what, id) in named.into_iter().chain(further) {
            if let Some(found) = id
                && found as usize >= count
            {
                return Err(Error::IdOutOfRange { what, found, count });
            }
        }
        Ok(())
    }

    fn check_scores(&self, count: usize) -> Result<(), Error> {
        let Some(scores) = self.scores else { return Ok(()) };
        if scores.len() != count {
            return Err(Error::ScoreCount { found: scores.len(), expected: count });
        }
        match scores.iter().position(|score| score.is_nan()) {
            Some(id) => Err(Error::ScoreNan { id: id as u32 }),
            None => Ok(()),
        }
    }
}

/// What a token is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenKind {
    /// Ordinary text.
    Normal = 1,
    /// Stands for text that the vocabulary cannot express.
    Unknown = 2,
    /// Markup of the model: begin, end, turns. Not part of the text.
    Control = 3,
    /// Added text that is always one token.
    UserDefined = 4,
    /// A place in the table without a meaning.
    Unused = 5,
    /// A single byte.
    Byte = 6,
}

impl TokenKind {
    pub(crate) fn from_number(number: i32) -> Option<TokenKind> {
        Some(match number {
            1 => TokenKind::Normal,
            2 => TokenKind::Unknown,
            3 => TokenKind::Control,
            4 => TokenKind::UserDefined,
            5 => TokenKind::Unused,
            6 => TokenKind::Byte,
            _ => return None,
        })
    }
}
