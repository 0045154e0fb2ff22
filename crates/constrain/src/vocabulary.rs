//! The bytes of a model's tokens.

use std::fmt;
use std::sync::Arc;

use llguidance::ParserFactory;
use llguidance::toktrie::{ApproximateTokEnv, INVALID_TOKEN, TokEnv, TokRxInfo, TokTrie};

use crate::{ConstrainError, limits};

/// A model's tokens as a trie. Half a second of work for 150,000 tokens; make it once and share it.
pub struct Vocabulary {
    factory: ParserFactory,
    /// For each token, whether it is text.
    is_text: Vec<bool>,
    ends: Vec<u32>,
}

impl Vocabulary {
    /// Of the bytes of each token, in the order of ids. Tokens without text (control tokens, unused places) are `None`
    /// and never allowed; `ends` are the tokens that end a generation, never allowed as text whatever they spell.
    pub fn new<'a>(
        pieces: impl IntoIterator<Item = Option<&'a [u8]>>,
        ends: &[u32],
    ) -> Result<Vocabulary, ConstrainError> {
        // No text in UTF-8 has this byte, and the trie gives it a meaning of its own.
        let usable = |piece: &[u8]| piece.first() != Some(&TokTrie::SPECIAL_TOKEN_MARKER);
        let mut words: Vec<Vec<u8>> = pieces
            .into_iter()
            .map(|piece| piece.filter(|piece| usable(piece)).unwrap_or_default().to_vec())
            .collect();
        let count = u32::try_from(words.len()).ok().filter(|count| (1..1 << 24).contains(count));
        let Some(count) = count else {
            let message = format!("{} tokens, expected 1 to {}", words.len(), (1 << 24) - 1);
            return Err(ConstrainError::Vocabulary(message));
        };
        for end in ends {
            let Some(word) = words.get_mut(*end as usize) else {
                let message = format!("token {end} ends a generation, and there are {count} tokens");
                return Err(ConstrainError::Vocabulary(message));
            };
            word.clear();
        }
        // A node of the trie counts its parents in 8 bits. Real tokens are far from it.
        for word in words.iter_mut().filter(|word| word.len() > usize::from(u8::MAX)) {
            word.clear();
        }
        let is_text = words.iter().map(|word| !word.is_empty()).collect();
        let info = TokRxInfo::new(count, ends.first().copied().unwrap_or(INVALID_TOKEN));
        let mut trie = TokTrie::from(&info, &words);
        if !ends.is_empty() {
            trie = trie.with_eos_tokens(ends);
        }
        let environment: TokEnv = Arc::new(ApproximateTokEnv::new(trie));
        let mut factory = ParserFactory::new_simple(&environment)
            .map_err(|error| ConstrainError::Vocabulary(error.to_string()))?;
        factory.quiet();
        *factory.limits_mut() = limits::engine();
        Ok(Vocabulary { factory, is_text, ends: ends.to_vec() })
    }

    /// Makes parsers for this vocabulary.
    pub(crate) fn factory(&self) -> &ParserFactory {
        &self.factory
    }

    /// Number of tokens.
    pub fn n_tokens(&self) -> usize {
        self.is_text.len()
    }

    /// The tokens that end a generation.
    pub fn ends(&self) -> &[u32] {
        &self.ends
    }

    /// Whether a token is text; false for ids beyond the vocabulary.
    pub fn is_text(&self, token: u32) -> bool {
        self.is_text.get(token as usize).copied().unwrap_or(false)
    }
}

impl fmt::Debug for Vocabulary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Vocabulary").field("n_tokens", &self.n_tokens()).field("ends", &self.ends).finish()
    }
}
