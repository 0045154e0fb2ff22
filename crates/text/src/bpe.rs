//! Byte pair encoding: the pair of neighbours whose merge comes first in the list is joined, the
//! leftmost one among equals, until no pair has a merge.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::hash::BuildHasher;

use hashbrown::HashMap;
use hashbrown::hash_map::Entry;

use crate::vocabulary::{Strings, TokenKind, TokenTable};
use crate::{Error, bytes};

/// No token, no merge, no neighbour.
const NONE: u32 = u32::MAX;

/// Up to this many bytes the best pair is searched for by looking at all of them, which needs less
/// bookkeeping than a heap; the cost grows with the square, so longer words take the heap.
const SCAN_BYTES_MAX: usize = 48;

/// The merges of a vocabulary by pair of tokens.
pub(crate) struct Bpe {
    // Key: left id in the high half, right id in the low half.
    merges: HashMap<u64, Merge, foldhash::fast::RandomState>,
    // (256) token of a single byte, NONE where there is none
    byte_tokens: [u32; 256],
}

#[derive(Clone, Copy)]
struct Merge {
    rank: u32,
    result: u32,
}

/// The merge of a pair that has none.
const NO_MERGE: Merge = Merge { rank: NONE, result: NONE };

/// A word being merged; kept between words so that its memory is reused.
#[derive(Default)]
pub(crate) struct Scratch {
    symbols: Vec<Symbol>,
    // Pairs: rank in the high half, index of the left symbol in the low half, so that the least one
    // is the best. Outdated ones are skipped when met.
    pairs: Vec<u64>,
    heap: BinaryHeap<Reverse<u64>>,
}

/// One token of the word, and its merge with the token after it.
#[derive(Clone, Copy)]
struct Symbol {
    id: u32,
    merge: Merge,
    previous: u32,
    next: u32,
}

/// A byte of a word that has no token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct MissingByte {
    pub(crate) byte: u8,
    pub(crate) offset: usize,
}

/// Two numbers as one that sorts by the left one first.
fn pair(left: u32, right: u32) -> u64 {
    u64::from(left) << 32 | u64::from(right)
}

impl Bpe {
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

    #[inline]
    fn merge(&self, left: u32, right: u32) -> Merge {
        self.merges.get(&pair(left, right)).copied().unwrap_or(NO_MERGE)
    }

    /// Appends the ids of one word.
    pub(crate) fn encode(
        &self,
        word: &[u8],
        scratch: &mut Scratch,
        ids: &mut Vec<u32>,
    ) -> Result<(), MissingByte> {
        self.fill(word, &mut scratch.symbols)?;
        if word.len() <= SCAN_BYTES_MAX {
            self.merge_by_scan(&mut scratch.symbols);
            ids.extend(scratch.symbols.iter().map(|symbol| symbol.id));
        } else {
            self.merge_by_heap(scratch);
            // The first symbol is only ever merged with what comes after it.
            let mut at = 0;
            while at != NONE {
                let symbol = scratch.symbols[at as usize];
                ids.push(symbol.id);
                at = symbol.next;
            }
        }
        Ok(())
    }

    /// One symbol a byte, each linked to its neighbours.
    fn fill(&self, word: &[u8], symbols: &mut Vec<Symbol>) -> Result<(), MissingByte> {
        symbols.clear();
        for (offset, &byte) in word.iter().enumerate() {
            let id = self.byte_tokens[byte as usize];
            if id == NONE {
                return Err(MissingByte { byte, offset });
            }
            let at = offset as u32;
            if let Some(last) = symbols.last_mut() {
                last.merge = self.merge(last.id, id);
                last.next = at;
            }
            symbols.push(Symbol { id, merge: NO_MERGE, previous: at.wrapping_sub(1), next: NONE });
        }
        Ok(())
    }

    /// For short words: the symbols lie side by side and the links are not used.
    fn merge_by_scan(&self, symbols: &mut Vec<Symbol>) {
        while symbols.len() > 1 {
            let mut best = 0;
            for at in 1..symbols.len() {
                if symbols[at].merge.rank < symbols[best].merge.rank {
                    best = at;
                }
            }
            let Merge { rank, result } = symbols[best].merge;
            if rank == NONE {
                return;
            }
            symbols.remove(best + 1);
            symbols[best].id = result;
            symbols[best].merge = match symbols.get(best + 1) {
                Some(right) => self.merge(result, right.id),
                None => NO_MERGE,
            };
            if best > 0 {
                symbols[best - 1].merge = self.merge(symbols[best - 1].id, result);
            }
        }
    }

    /// For words of any length: symbols are a linked list, pairs wait in a heap.
    fn merge_by_heap(&self, scratch: &mut Scratch) {
        let Scratch { symbols, pairs, heap } = scratch;
        // Those that are there from the start are sorted, which is kinder to the processor's caches
        // than a heap; so the heap holds only those that come to be by a merge.
        pairs.clear();
        for (at, symbol) in symbols.iter().enumerate() {
            if symbol.merge.rank != NONE {
                pairs.push(pair(symbol.merge.rank, at as u32));
            }
        }
        pairs.sort_unstable();
        let mut first = pairs.iter().copied().peekable();
        heap.clear();

        loop {
            let best = match (first.peek(), heap.peek()) {
                (Some(pair), Some(&Reverse(new))) if new < *pair => heap.pop().map(|new| new.0),
                (None, _) => heap.pop().map(|new| new.0),
                (Some(_), _) => first.next(),
            };
            let Some(best) = best else { return };
            let (rank, at) = ((best >> 32) as u32, best as u32);
            let left = symbols[at as usize];
            // A rank names its two tokens, so an equal rank means that the pair is still there.
            if left.merge.rank != rank {
                continue;
            }
            let result = left.merge.result;
            let right = symbols[left.next as usize];
            symbols[left.next as usize].merge = NO_MERGE;
            let mut merged = Symbol { id: result, merge: NO_MERGE, next: right.next, ..left };
            if right.next != NONE {
                let after = &mut symbols[right.next as usize];
                after.previous = at;
                merged.merge = self.merge(result, after.id);
                if merged.merge.rank != NONE {
                    heap.push(Reverse(pair(merged.merge.rank, at)));
                }
            }
            symbols[at as usize] = merged;
            if left.previous != NONE {
                let before = &mut symbols[left.previous as usize];
                before.merge = self.merge(before.id, result);
                if before.merge.rank != NONE {
                    heap.push(Reverse(pair(before.merge.rank, left.previous)));
                }
            }
        }
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

    /// The token that stands for exactly these bytes.
    pub(crate) fn get(&self, tokens: &TokenTable, word: &[u8]) -> Option<u32> {
        let hash = self.hasher.hash_one(word);
        self.ids.find(hash, |&id| tokens.piece(id) == word).copied()
    }
}
