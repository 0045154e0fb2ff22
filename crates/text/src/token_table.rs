//! The tokens of a vocabulary, checked and indexed.

use std::hash::BuildHasher;

use hashbrown::HashTable;
use hashbrown::hash_table::Entry;

use crate::bytes;
use crate::{Error, TokenKind, VocabularyData};

/// How a vocabulary spells the bytes of its tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Spelling {
    /// A character for each byte: [`bytes`].
    ByteAlphabet,
    /// As text, with [`SPACE`] for a space; a single byte as `<0x0A>`.
    SentencePiece,
}

/// How SentencePiece writes a space.
pub(crate) const SPACE: char = '\u{2581}';

/// All tokens: text, bytes and kind of each, and the id of a text.
pub(crate) struct TokenTable {
    texts: Packed,
    // The bytes that a token stands for, in the same order.
    pieces: Packed,
    kinds: Vec<TokenKind>,
    by_text: HashTable<u32>,
    hasher: foldhash::fast::RandomState,
}

/// Byte strings one after the other.
struct Packed {
    bytes: Vec<u8>,
    // (count + 1) offsets into `bytes`
    starts: Vec<u32>,
}

impl Packed {
    fn new(count: usize, bytes: usize) -> Packed {
        let mut starts = Vec::with_capacity(count + 1);
        starts.push(0);
        Packed { bytes: Vec::with_capacity(bytes), starts }
    }

    /// Ends the string whose bytes were appended to `bytes`.
    fn end_string(&mut self) -> Result<(), Error> {
        let end = u32::try_from(self.bytes.len()).map_err(|_| Error::TooLarge {
            what: "the text of tokenizer.ggml.tokens",
            found: self.bytes.len(),
            limit: u32::MAX as usize,
        })?;
        self.starts.push(end);
        Ok(())
    }

    fn heap_bytes(&self) -> usize {
        self.bytes.capacity() + self.starts.capacity() * size_of::<u32>()
    }

    fn get(&self, id: u32) -> &[u8] {
        let id = id as usize;
        &self.bytes[self.starts[id] as usize..self.starts[id + 1] as usize]
    }
}

impl TokenTable {
    /// Bytes on the heap.
    pub(crate) fn heap_bytes(&self) -> usize {
        let packed = self.texts.heap_bytes() + self.pieces.heap_bytes();
        packed + self.kinds.capacity() * size_of::<TokenKind>() + self.by_text.allocation_size()
    }

    /// Checks and copies the tokens.
    pub(crate) fn new(data: &VocabularyData, spelling: Spelling) -> Result<TokenTable, Error> {
        let count = data.tokens.len();
        if count == 0 {
            return Err(Error::VocabularyEmpty);
        }
        // One less than the ids, so that u32::MAX can mean "no token".
        let limit = i32::MAX as usize;
        if count > limit {
            return Err(Error::TooLarge { what: "tokenizer.ggml.tokens", found: count, limit });
        }
        let kinds = kinds(data, count)?;
        let mut table = TokenTable {
            texts: Packed::new(count, count * 8),
            pieces: Packed::new(count, count * 7),
            kinds,
            by_text: HashTable::with_capacity(count),
            hasher: foldhash::fast::RandomState::default(),
        };
        for id in 0..count as u32 {
            table.push(id, data.tokens.get(id as usize), spelling)?;
        }
        // Texts are longer than thought in some vocabularies, and then half of the room is not used.
        table.texts.bytes.shrink_to_fit();
        table.pieces.bytes.shrink_to_fit();
        Ok(table)
    }

    fn push(&mut self, id: u32, text: &str, spelling: Spelling) -> Result<(), Error> {
        self.texts.bytes.extend_from_slice(text.as_bytes());
        self.texts.end_string()?;
        let piece = &mut self.pieces.bytes;
        match (self.kinds[id as usize], spelling) {
            (TokenKind::Normal | TokenKind::Byte, Spelling::ByteAlphabet) => {
                bytes::decode_into(text, piece).map_err(|found| Error::TokenNotBytes {
                    id,
                    text: text.to_owned(),
                    found,
                })?;
            }
            (TokenKind::Normal, Spelling::SentencePiece) => write_spaces(text, piece),
            (TokenKind::Byte, Spelling::SentencePiece) => {
                let malformed = || Error::TokenNotByte { id, text: text.to_owned() };
                piece.push(bytes::of_hex_name(text).ok_or_else(malformed)?);
            }
            // A place without a meaning has no text either.
            (TokenKind::Unused, _) => {}
            (TokenKind::Unknown | TokenKind::Control | TokenKind::UserDefined, _) => {
                piece.extend_from_slice(text.as_bytes());
            }
        }
        self.pieces.end_string()?;

        let (texts, hasher) = (&self.texts, &self.hasher);
        let slot = self.by_text.entry(
            hasher.hash_one(text.as_bytes()),
            |&other| texts.get(other) == text.as_bytes(),
            |&other| hasher.hash_one(texts.get(other)),
        );
        match slot {
            Entry::Occupied(first) => {
                Err(Error::TokenDuplicate { first: *first.get(), second: id, text: text.to_owned() })
            }
            Entry::Vacant(slot) => {
                slot.insert(id);
                Ok(())
            }
        }
    }

    /// Number of tokens.
    pub(crate) fn len(&self) -> usize {
        self.kinds.len()
    }

    pub(crate) fn kind(&self, id: u32) -> TokenKind {
        self.kinds[id as usize]
    }

    /// The bytes that a token stands for.
    pub(crate) fn piece(&self, id: u32) -> &[u8] {
        self.pieces.get(id)
    }

    /// The text of a token as the file spells it.
    pub(crate) fn text(&self, id: u32) -> &str {
        std::str::from_utf8(self.texts.get(id)).expect("copied from a str")
    }

    /// The bytes of [`TokenTable::text`].
    pub(crate) fn text_bytes(&self, id: u32) -> &[u8] {
        self.texts.get(id)
    }

    /// Whether there is such a token and the file spells it so.
    pub(crate) fn is_spelled(&self, id: u32, text: &str) -> bool {
        (id as usize) < self.len() && self.texts.get(id) == text.as_bytes()
    }

    /// The token that the file spells so.
    pub(crate) fn id_of_text(&self, text: &str) -> Option<u32> {
        self.id_of_bytes(text.as_bytes())
    }

    /// As [`TokenTable::id_of_text`], for bytes that need not be whole characters.
    #[inline]
    pub(crate) fn id_of_bytes(&self, text: &[u8]) -> Option<u32> {
        let hash = self.hasher.hash_one(text);
        self.by_text.find(hash, |&id| self.texts.get(id) == text).copied()
    }
}

/// Appends a text with spaces as spaces.
fn write_spaces(text: &str, out: &mut Vec<u8>) {
    // Nearly all have one at the beginning or none.
    let mut rest = text;
    while let Some(after) = rest.strip_prefix(SPACE) {
        out.push(b' ');
        rest = after;
    }
    for (index, part) in rest.split(SPACE).enumerate() {
        if index > 0 {
            out.push(b' ');
        }
        out.extend_from_slice(part.as_bytes());
    }
}

fn kinds(data: &VocabularyData, count: usize) -> Result<Vec<TokenKind>, Error> {
    let Some(types) = data.token_types else {
        return Ok(vec![TokenKind::Normal; count]);
    };
    if types.len() != count {
        return Err(Error::TokenTypeCount { found: types.len(), expected: count });
    }
    let kind = |(id, &found): (usize, &i32)| {
        TokenKind::from_number(found).ok_or(Error::TokenTypeUnknown { id: id as u32, found })
    };
    types.iter().enumerate().map(kind).collect()
}
