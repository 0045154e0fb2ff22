//! WordPiece, as BERT has it: text is cleaned, words are cut at spaces and around marks, and each word becomes the longest
//! pieces that there are, from the left. A word that has none somewhere is the unknown token as a whole.
//!
//! Vocabularies of files spell the start of a word with U+2581 and further pieces plainly.

use unicode_general_category::{GeneralCategory as Category, get_general_category};
use unicode_normalization::UnicodeNormalization;

use crate::token_table::{SPACE, TokenTable};
use crate::{Error, TokenKind, VocabularyData};

/// Words of more characters are unknown.
const WORD_CHARS_MAX: usize = 100;

/// What a vocabulary says of its words.
pub(crate) struct WordPiece {
    unknown: u32,
    /// Length in bytes of the longest token.
    token_bytes_max: usize,
    /// The vocabulary has capital letters: text keeps its case and its accents.
    cased: bool,
}

/// Memory that is reused from word to word.
#[derive(Default)]
pub(crate) struct Scratch {
    chars: Vec<char>,
    word: String,
}

/// The token that begins a text, where no key names one.
const CLS: &str = "[CLS]";
/// The token that ends a text, where no key names one.
const SEP: &str = "[SEP]";
const UNK: &str = "[UNK]";

/// The tokens that a text begins and ends with.
pub(crate) fn ends(tokens: &TokenTable, data: &VocabularyData) -> (Option<u32>, Option<u32>) {
    let first = data.cls.or(data.bos).or_else(|| tokens.id_of_text(CLS));
    let last = data.sep.or(data.eos).or_else(|| tokens.id_of_text(SEP));
    (first, last)
}

impl WordPiece {
    /// Finds the unknown token and whether case matters.
    pub(crate) fn new(tokens: &TokenTable, data: &VocabularyData) -> Result<WordPiece, Error> {
        let unknown = data.unk.or_else(|| tokens.id_of_text(UNK));
        let unknown = unknown.ok_or_else(|| Error::UnknownMissing { model: data.model.to_owned() })?;
        // No key says it. Where every capital letter is a word, text must be able to become one.
        let cased = ('A'..='Z').all(|c| tokens.id_of_text(&format!("{SPACE}{c}")).is_some());
        let lengths = (0..tokens.len() as u32).map(|id| tokens.text_bytes(id).len());
        Ok(WordPiece { unknown, token_bytes_max: lengths.max().unwrap_or(0), cased })
    }

    /// The token for words that the vocabulary cannot express.
    pub(crate) fn unknown(&self) -> u32 {
        self.unknown
    }

    /// Appends the ids of a text without spaces. It may hold several words, since marks are words.
    pub(crate) fn encode(&self, tokens: &TokenTable, text: &str, scratch: &mut Scratch, ids: &mut Vec<u32>) {
        let Scratch { chars, word } = scratch;
        chars.clear();
        let kept = text.chars().filter(|c| !is_removed(*c));
        match self.cased {
            true => chars.extend(kept),
            false => chars.extend(kept.nfd().filter(|c| !is_accent(*c)).flat_map(char::to_lowercase)),
        }
        // What a character is made of may be a space.
        for part in chars.split(|c| c.is_whitespace()) {
            let mut rest = part;
            while let Some(first) = rest.first() {
                let stands_alone = |c: &char| is_mark(*c) || is_ideograph(*c);
                let end = match stands_alone(first) {
                    true => 1,
                    false => rest.iter().position(stands_alone).unwrap_or(rest.len()),
                };
                self.word(tokens, &rest[..end], word, ids);
                rest = &rest[end..];
            }
        }
    }

    /// Appends the ids of one word.
    fn word(&self, tokens: &TokenTable, chars: &[char], word: &mut String, ids: &mut Vec<u32>) {
        if chars.len() > WORD_CHARS_MAX {
            ids.push(self.unknown);
            return;
        }
        word.clear();
        word.push(SPACE);
        word.extend(chars);
        let before = ids.len();
        let mut rest = word.as_str();
        while !rest.is_empty() {
            // A space that was written is no start of a word.
            let written = ids.len() > before && rest.starts_with(SPACE);
            let Some((id, bytes)) = (if written { None } else { self.longest(tokens, rest) }) else {
                ids.truncate(before);
                ids.push(self.unknown);
                return;
            };
            ids.push(id);
            rest = &rest[bytes..];
        }
    }

    /// The longest token that a text begins with, and its length.
    fn longest(&self, tokens: &TokenTable, text: &str) -> Option<(u32, usize)> {
        let most = text.len().min(self.token_bytes_max);
        (1..=most).rev().filter(|end| text.is_char_boundary(*end)).find_map(|end| {
            // The start of a word alone is nothing that a text holds.
            let is_start = end == SPACE.len_utf8() && text.starts_with(SPACE);
            let id = tokens.id_of_text(&text[..end]).filter(|_| !is_start)?;
            let is_text = !matches!(tokens.kind(id), TokenKind::Control | TokenKind::Unknown);
            is_text.then_some((id, end))
        })
    }
}

/// Whether words end at a character. Other spaces are controls, which are no part of a text at all.
pub(crate) fn is_space(c: char) -> bool {
    matches!(c, '\t' | '\n' | '\r') || (c.is_whitespace() && !is_removed(c))
}

/// Controls, invisible characters, and what stands for damaged text.
fn is_removed(c: char) -> bool {
    let is_other = || {
        matches!(
            get_general_category(c),
            Category::Control | Category::Format | Category::PrivateUse | Category::Surrogate
        )
    };
    match c {
        '\t' | '\n' | '\r' | ' '..='~' => false,
        '\0' | '\u{FFFD}' => true,
        _ => is_other(),
    }
}

fn is_accent(c: char) -> bool {
    !c.is_ascii() && get_general_category(c) == Category::NonspacingMark
}

/// A character that is a word by itself: every mark of ASCII, and punctuation.
fn is_mark(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_punctuation();
    }
    matches!(
        get_general_category(c),
        Category::ConnectorPunctuation
            | Category::DashPunctuation
            | Category::OpenPunctuation
            | Category::ClosePunctuation
            | Category::InitialPunctuation
            | Category::FinalPunctuation
            | Category::OtherPunctuation
    )
}

/// A Chinese character, which no space parts from the next: a word by itself.
fn is_ideograph(c: char) -> bool {
    matches!(
        c,
        '\u{4E00}'..='\u{9FFF}'
            | '\u{3400}'..='\u{4DBF}'
            | '\u{20000}'..='\u{2A6DF}'
            | '\u{2A700}'..='\u{2B73F}'
            | '\u{2B740}'..='\u{2B81F}'
            | '\u{2B820}'..='\u{2CEAF}'
            | '\u{F900}'..='\u{FAFF}'
            | '\u{2F800}'..='\u{2FA1F}'
    )
}
