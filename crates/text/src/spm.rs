//! SentencePiece's BPE: characters are joined as long as two neighbours spell a token, the one with
//! the highest score first, the leftmost one among equals. What is no token then is spelled in bytes.

use std::ops::Range;

use hashbrown::HashSet;

use crate::bpe::MissingByte;
use crate::merge::{Merge, NO_MERGE, NONE, Pairs, Word};
use crate::token_table::{SPACE, TokenTable};
use crate::{Error, TokenKind, VocabularyData, special};

/// The scores of a vocabulary and what follows from them.
pub(crate) struct Spm {
    // (tokens) place of the score in the order of merging, the highest score least; NONE for tokens
    // that text never becomes
    ranks: Vec<u32>,
    // (128) tokens of single characters, NONE where there is none
    ascii: [u32; 128],
    // (256) NONE where there is none
    byte_tokens: [u32; 256],
    unknown: Option<u32>,
    // Length of the longest token that text can become.
    token_bytes_max: usize,
    // Characters before a space inside a token. Everywhere else text can be cut before a space,
    // since no merge reaches across.
    before_space: HashSet<char>,
    /// Whether text begins with a space that was not written.
    pub(crate) add_space_prefix: bool,
}

/// A word being merged; kept between words so that its memory is reused.
pub(crate) struct Scratch {
    text: String,
    word: Word<Symbol>,
}

impl Default for Scratch {
    fn default() -> Scratch {
        Scratch { text: String::new(), word: Word::new() }
    }
}

/// A window of the word, and its token if it is one.
#[derive(Clone, Copy)]
struct Symbol {
    id: u32,
    start: u32,
    end: u32,
}

impl Spm {
    /// Bytes on the heap, its own included.
    pub(crate) fn heap_bytes(&self) -> usize {
        // A set of few characters: a control byte and a character a bucket, at most half of them empty.
        let before_space = self.before_space.capacity() * 2 * (size_of::<char>() + 1);
        size_of::<Spm>() + self.ranks.capacity() * size_of::<u32>() + before_space
    }

    /// Checks the scores and indexes them.
    pub(crate) fn new(tokens: &TokenTable, data: &VocabularyData) -> Result<Spm, Error> {
        let scores = data.scores.ok_or_else(|| Error::ScoresMissing { model: data.model.to_owned() })?;
        let mut spm = Spm {
            ranks: vec![NONE; tokens.len()],
            ascii: [NONE; 128],
            byte_tokens: [NONE; 256],
            unknown: data.unk,
            token_bytes_max: 0,
            before_space: HashSet::new(),
            add_space_prefix: data.add_space_prefix.unwrap_or(true),
        };
        for (id, &score) in (0..).zip(scores) {
            let text = tokens.text_bytes(id);
            match tokens.kind(id) {
                TokenKind::Byte => {
                    let slot = &mut spm.byte_tokens[tokens.piece(id)[0] as usize];
                    *slot = id.min(*slot);
                }
                TokenKind::Normal | TokenKind::UserDefined if !special::is_end_text(text) => {
                    spm.add(id, text, score);
                }
                _ => {}
            }
        }
        Ok(spm)
    }

    /// Makes a token one that text can become.
    fn add(&mut self, id: u32, text: &[u8], score: f32) {
        self.ranks[id as usize] = rank(score);
        self.token_bytes_max = self.token_bytes_max.max(text.len());
        if let [byte @ 0..0x80] = *text {
            self.ascii[byte as usize] = id;
        }
        let mut space = [0; 4];
        let space = SPACE.encode_utf8(&mut space).as_bytes();
        // In nearly all tokens a space is at the beginning or nowhere.
        for at in 1..text.len() {
            if text[at] == space[0] && text[at..].starts_with(space) {
                let before = std::str::from_utf8(&text[..at]).ok().and_then(|text| text.chars().next_back());
                self.before_space.extend(before);
            }
        }
    }

    /// The words of a text: windows of it, one after the other, across which nothing merges. With
    /// `prefix` a space that was not written comes before the text, and is the first word with what
    /// follows it.
    pub(crate) fn words<'a>(
        &'a self,
        text: &'a str,
        prefix: bool,
    ) -> impl Iterator<Item = Range<usize>> + 'a {
        let starts_apart = text.starts_with([' ', SPACE]) && !self.before_space.contains(&SPACE);
        let mut is_prefix = prefix && starts_apart;
        let mut at = 0;
        std::iter::from_fn(move || {
            if is_prefix {
                is_prefix = false;
                return Some(0..0);
            }
            if at == text.len() {
                return None;
            }
            let start = at;
            at = self.word_end(text, start);
            Some(start..at)
        })
    }

    fn word_end(&self, text: &str, start: usize) -> usize {
        let bytes = text.as_bytes();
        for at in start + 1..bytes.len() {
            let is_space = match bytes[at] {
                b' ' => true,
                0xE2 => text[at..].starts_with(SPACE),
                _ => false,
            };
            if is_space {
                let before = text[..at].chars().next_back().expect("there is one from the start on");
                if !self.before_space.contains(&escape(before)) {
                    return at;
                }
            }
        }
        bytes.len()
    }

    /// Appends the ids of one word, with a space before it if `prefix`.
    pub(crate) fn encode(
        &self,
        tokens: &TokenTable,
        text: &str,
        prefix: bool,
        scratch: &mut Scratch,
        ids: &mut Vec<u32>,
    ) -> Result<(), MissingByte> {
        let Scratch { text: escaped, word } = scratch;
        escaped.clear();
        escaped.extend(prefix.then_some(SPACE));
        escaped.extend(text.chars().map(escape));

        let pairs = Joiner { spm: self, tokens, text: escaped.as_bytes() };
        word.clear();
        let mut start = 0;
        for char in escaped.chars() {
            let end = start + char.len_utf8() as u32;
            word.push(Symbol { id: pairs.id_of_char(char, start, end), start, end }, &pairs);
            start = end;
        }
        let mut missing = None;
        word.merge(&pairs, |symbol| match symbol.id {
            NONE if missing.is_none() => missing = self.spell(escaped, symbol, prefix, ids).err(),
            id => ids.push(id),
        });
        match missing {
            Some(missing) => Err(missing),
            None => Ok(()),
        }
    }

    /// Appends the bytes of a character that is no token, or the token for what is unknown.
    fn spell(
        &self,
        escaped: &str,
        symbol: Symbol,
        prefix: bool,
        ids: &mut Vec<u32>,
    ) -> Result<(), MissingByte> {
        let text = &escaped[symbol.start as usize..symbol.end as usize];
        // A space was one before it was escaped, and its byte decodes to one.
        let bytes = if text.starts_with(SPACE) { b" " } else { text.as_bytes() };
        let token = |byte: u8| self.byte_tokens[byte as usize];
        match (bytes.iter().position(|&byte| token(byte) == NONE), self.unknown) {
            (None, _) => ids.extend(bytes.iter().map(|&byte| token(byte))),
            (Some(_), Some(unknown)) => ids.push(unknown),
            (Some(at), None) => {
                let before = escaped[..symbol.start as usize].chars().skip(usize::from(prefix));
                let offset: usize = before.map(|char| if char == SPACE { 1 } else { char.len_utf8() }).sum();
                return Err(MissingByte { byte: bytes[at], offset: offset + at });
            }
        }
        Ok(())
    }
}

/// Joins windows of a word that spell a token.
struct Joiner<'a> {
    spm: &'a Spm,
    tokens: &'a TokenTable,
    text: &'a [u8],
}

impl Joiner<'_> {
    fn id_of_char(&self, char: char, start: u32, end: u32) -> u32 {
        match char {
            '\0'..='\x7F' => self.spm.ascii[char as usize],
            _ => self.find(start, end).result,
        }
    }

    /// The token that a window spells.
    #[inline]
    fn find(&self, start: u32, end: u32) -> Merge {
        let text = &self.text[start as usize..end as usize];
        if text.len() > self.spm.token_bytes_max {
            return NO_MERGE;
        }
        match self.tokens.id_of_bytes(text) {
            Some(id) if self.spm.ranks[id as usize] != NONE => {
                Merge { rank: self.spm.ranks[id as usize], result: id }
            }
            _ => NO_MERGE,
        }
    }
}

impl Pairs for Joiner<'_> {
    type Symbol = Symbol;

    #[inline]
    fn merge(&self, left: Symbol, right: Symbol) -> Merge {
        self.find(left.start, right.end)
    }

    fn join(&self, left: Symbol, right: Symbol, result: u32) -> Symbol {
        Symbol { id: result, start: left.start, end: right.end }
    }
}

fn escape(char: char) -> char {
    if char == ' ' { SPACE } else { char }
}

/// A number that is less for a higher score.
fn rank(score: f32) -> u32 {
    // Zero has two forms, which are equal.
    let bits = (score + 0.0).to_bits();
    // The bits of positive numbers rise with them, those of negative ones fall.
    if bits >> 31 == 0 { 0x7FFF_FFFF - bits } else { bits }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_in_the_order_of_scores() {
        let scores = [f32::INFINITY, 3.5, 1.0, 1e-40, 0.0, -1e-40, -1.0, -255_504.0, f32::NEG_INFINITY];
        assert!(scores.windows(2).all(|pair| rank(pair[0]) < rank(pair[1])));
        assert_eq!(rank(0.0), rank(-0.0));
        assert!(rank(f32::NEG_INFINITY) < NONE);
    }
}
