//! Byte pair encoding: the pair of neighbours whose merge comes first in the list is joined, the
//! leftmost one among equals, until no pair has a merge.

use std::hash::BuildHasher;

use hashbrown::HashMap;
use hashbrown::hash_map::Entry;

use crate::merge::{Merge, NO_MERGE, NONE, Pairs, Word, pair};
use crate::token_table::TokenTable;
use crate::{Error, Strings, TokenKind, bytes};

/// The merges of a vocabulary by pair of tokens.
pub(crate) struct Bpe {
    // Key: left id in the high half, right id in the low half.
    merges: HashMap<u64, Merge, foldhash::fast::RandomState>,
    // (256) token of a single byte, NONE where there is none
    byte_tokens: [u32; 256],
}

/// A byte of a word that has no token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct MissingByte {
    pub(crate) byte: u8,
    pub(crate) offset: usize,
}

impl MissingByte {
    /// The error for a text that has the word at `start`.
    pub(crate) fn in_text(self, start: usize) -> Error {
        Error::NoTokenForByte { byte: self.byte, offset: start + self.offset }
    }
}

impl Bpe {
    /// Bytes on the heap, its own included.
    pub(crate) fn heap_bytes(&self) -> usize {
        size_of::<Bpe>() + self.merges.allocation_size()
    }

    /// Checks the merges against the tokens and indexes them.
    pub(crate) fn new(tokens: &TokenTable, list: &dyn Strings) -> Result<Bpe, Error> {
        let count = list.len();
        let limit = i32::MAX as usize;
        if count > limit {
            return Err(Error::TooLarge { what: "tokenizer.ggml.merges", found: count, limit });
        }
        let mut merges = HashMap::with_capacity_and_hasher(count, foldhash::fast::RandomState::default());
        let mut joined = String::new();
        // Vocabularies list the results of merges in the order of the merges, mostly: the next
        // token is looked at first, which spares a search.
        let mut expected = 0;
        for index in 0..count {
            let text = list.get(index);
            let malformed = || Error::MergeMalformed { index, text: text.to_owned() };
            let (left, right) = text.split_once(' ').ok_or_else(malformed)?;
            if left.is_empty() || right.is_empty() || right.contains(' ') {
                return Err(malformed());
            }
            joined.clear();
            joined.push_str(left);
            joined.push_str(right);
            let find = |part, token: &str| {
                tokens.id_of_text(token).ok_or_else(|| Error::MergeUnknownToken {
                    index,
                    text: text.to_owned(),
                    part,
                    token: token.to_owned(),
                })
            };
            let key = pair(find("left part", left)?, find("right part", right)?);
            let result = match tokens.is_spelled(expected, &joined) {
                true => expected,
                false => find("result", &joined)?,
            };
            expected = result + 1;
            let merge = Merge { rank: index as u32, result };
            match merges.entry(key) {
                Entry::Vacant(slot) => slot.insert(merge),
                Entry::Occupied(first) => {
                    return Err(Error::MergeDuplicate {
                        first: first.get().rank as usize,
                        second: index,
                        text: text.to_owned(),
                    });
                }
            };
        }
        Ok(Bpe { merges, byte_tokens: byte_tokens(tokens) })
    }

    /// Appends the ids of one word.
    pub(crate) fn encode(
        &self,
        bytes: &[u8],
        word: &mut Word<u32>,
        ids: &mut Vec<u32>,
    ) -> Result<(), MissingByte> {
        word.clear();
        for (offset, &byte) in bytes.iter().enumerate() {
            let id = self.byte_tokens[byte as usize];
            if id == NONE {
                return Err(MissingByte { byte, offset });
            }
            word.push(id, self);
        }
        word.merge(self, |id| ids.push(id));
        Ok(())
    }
}

impl Pairs for Bpe {
    /// The token.
    type Symbol = u32;

    #[inline]
    fn merge(&self, left: u32, right: u32) -> Merge {
        self.merges.get(&pair(left, right)).copied().unwrap_or(NO_MERGE)
    }

    fn join(&self, _: u32, _: u32, result: u32) -> u32 {
        result
    }
}

/// The token of each byte. A control token never stands for text, even if it is spelled so.
fn byte_tokens(tokens: &TokenTable) -> [u32; 256] {
    std::array::from_fn(|byte| {
        let text = bytes::char_of(byte as u8).to_string();
        let id = tokens.id_of_text(&text);
        id.filter(|&id| is_text(tokens.kind(id))).unwrap_or(NONE)
    })
}

fn is_text(kind: TokenKind) -> bool {
    match kind {
        TokenKind::Normal | TokenKind::UserDefined | TokenKind::Byte => true,
        TokenKind::Unknown | TokenKind::Control | TokenKind::Unused => false,
    }
}

/// Tokens by the bytes that they stand for: for pre-tokenizers that take whole words.
pub(crate) struct WordTable {
    ids: hashbrown::HashTable<u32>,
    hasher: foldhash::fast::RandomState,
}

impl WordTable {
    /// Indexes the normal tokens.
    pub(crate) fn new(tokens: &TokenTable) -> WordTable {
        let hasher = foldhash::fast::RandomState::default();
        let mut ids = hashbrown::HashTable::with_capacity(tokens.len());
        for id in 0..tokens.len() as u32 {
            if tokens.kind(id) == TokenKind::Normal {
                let hash = |&id: &u32| hasher.hash_one(tokens.piece(id));
                ids.insert_unique(hash(&id), id, hash);
            }
        }
        WordTable { ids, hasher }
    }

    /// Bytes on the heap.
    pub(crate) fn heap_bytes(&self) -> usize {
        self.ids.allocation_size()
    }

    /// The token that stands for exactly these bytes.
    pub(crate) fn get(&self, tokens: &TokenTable, word: &[u8]) -> Option<u32> {
        let hash = self.hasher.hash_one(word);
        self.ids.find(hash, |&id| tokens.piece(id) == word).copied()
    }
}
