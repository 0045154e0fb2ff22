//! Finds the tokens that are matched in the text as they stand, before any splitting or merging.

use std::ops::Range;

use aho_corasick::{AhoCorasick, AhoCorasickBuilder, Input, MatchKind};
use hashbrown::HashMap;

use crate::TokenKind;
use crate::token_table::TokenTable;

/// Texts by which models end a turn or a document. Some files list such a token as normal text or as
/// user-defined; it is matched as markup nevertheless, since that is what a template that writes it
/// means, and never in what a user wrote.
pub(crate) const END_TEXTS: &[&str] = &[
    "<|im_end|>",
    "<|eot_id|>",
    "<|eom_id|>",
    "<|end|>",
    "<|endoftext|>",
    "<|end_of_text|>",
    "<end_of_turn>",
    "<eos>",
    "</s>",
];

/// Whether a text is one of [`END_TEXTS`].
pub(crate) fn is_end_text(text: &[u8]) -> bool {
    // Asked of every token of a vocabulary: all of them begin so.
    text.first() == Some(&b'<') && END_TEXTS.iter().any(|end| end.as_bytes() == text)
}

/// Markup (control and unknown tokens, and [`END_TEXTS`]) and user-defined tokens. At each place the
/// longest wins, and the leftmost match goes first.
pub(crate) struct SpecialTokens {
    // None where the vocabulary has no such token.
    automaton: Option<AhoCorasick>,
    // (patterns) token of each pattern of the automaton
    specials: Vec<Special>,
    by_text: HashMap<Box<[u8]>, Special>,
    // Lengths in bytes that occur, longest first.
    lengths: Vec<usize>,
    // What makes one markup token a longer one; in most vocabularies there is none.
    extensions: Vec<Box<str>>,
    // (256) whether markup begins with the byte
    first_bytes: [bool; 256],
}

impl SpecialTokens {
    /// Bytes on the heap, up to the allocator's rounding.
    pub(crate) fn heap_bytes(&self) -> usize {
        let automaton = self.automaton.as_ref().map_or(0, AhoCorasick::memory_usage);
        let texts: usize = self.by_text.keys().map(|text| text.len()).sum();
        let extensions: usize = self.extensions.iter().map(|text| text.len() + size_of::<Box<str>>()).sum();
        let specials = self.specials.capacity() * size_of::<Special>();
        automaton
            + texts
            + extensions
            + specials
            + self.by_text.allocation_size()
            + self.lengths.capacity() * 8
    }

    pub(crate) fn new(tokens: &TokenTable) -> SpecialTokens {
        let by_kind = |id| match tokens.kind(id) {
            TokenKind::Unknown | TokenKind::Control => Some(Special { id, is_markup: true }),
            TokenKind::UserDefined => Some(Special { id, is_markup: is_end_text(tokens.text_bytes(id)) }),
            TokenKind::Normal | TokenKind::Unused | TokenKind::Byte => None,
        };
        let ends = END_TEXTS.iter().filter_map(|text| tokens.id_of_text(text));
        let normal_ends = ends.filter(|&id| tokens.kind(id) == TokenKind::Normal);
        let specials: Vec<Special> = (0..tokens.len() as u32)
            .filter_map(by_kind)
            .chain(normal_ends.map(|id| Special { id, is_markup: true }))
            .filter(|special| !tokens.text(special.id).is_empty())
            .collect();
        let texts: Vec<&[u8]> = specials.iter().map(|special| tokens.text(special.id).as_bytes()).collect();
        let mut lengths: Vec<usize> = texts.iter().map(|text| text.len()).collect();
        lengths.sort_unstable_by_key(|&length| std::cmp::Reverse(length));
        lengths.dedup();
        let automaton = (!texts.is_empty()).then(|| {
            AhoCorasickBuilder::new()
                .match_kind(MatchKind::LeftmostLongest)
                .build(&texts)
                .expect("the texts of a vocabulary fit 32-bit states")
        });
        let by_text = texts.iter().map(|&text| text.into()).zip(specials.iter().copied()).collect();
        let mut first_bytes = [false; 256];
        for (text, _) in texts.iter().zip(&specials).filter(|(_, special)| special.is_markup) {
            first_bytes[text[0] as usize] = true;
        }
        let mut found =
            SpecialTokens { automaton, specials, by_text, lengths, extensions: vec![], first_bytes };
        for special in found.specials.iter().filter(|special| special.is_markup) {
            let text = tokens.text(special.id);
            let starts = found.lengths.iter().filter_map(|&length| text.split_at_checked(length));
            let extensions = starts.filter(|(start, rest)| {
                !rest.is_empty() && found.by_text.get(start.as_bytes()).is_some_and(|s| s.is_markup)
            });
            found.extensions.extend(extensions.map(|(_, rest)| rest.into()));
        }
        found
    }

    /// Every range of `text` that is spelled as markup, overlapping ones too; those at its end that
    /// begin as markup and could be completed by what follows; and one at its beginning that would
    /// make longer markup of markup before it. In order of their starts.
    pub(crate) fn markup_in(&self, text: &str) -> Vec<Range<usize>> {
        let bytes = text.as_bytes();
        let mut ranges = Vec::new();
        for extension in self.extensions.iter().filter(|_| !text.is_empty()) {
            if text.starts_with(&**extension) || extension.starts_with(text) {
                ranges.push(0..extension.len().min(text.len()));
            }
        }
        for start in (0..bytes.len()).filter(|&start| self.first_bytes[bytes[start] as usize]) {
            let longest = self.lengths.first().copied().unwrap_or(0);
            let rest = &bytes[start..];
            let is_markup = |length: usize| {
                rest.get(..length)
                    .and_then(|bytes| self.by_text.get(bytes))
                    .is_some_and(|special| special.is_markup)
            };
            if let Some(&length) = self.lengths.iter().find(|&&length| is_markup(length)) {
                ranges.push(start..start + length);
            } else if rest.len() < longest
                && self.by_text.iter().any(|(text, s)| s.is_markup && text.starts_with(rest))
            {
                ranges.push(start..bytes.len());
            }
        }
        ranges
    }

    /// The first match at or after `from`: its range in `text` and its token.
    ///
    /// Markup is only matched outside the `protected` ranges (in order, not overlapping), a
    /// user-defined token anywhere. `protected` is shortened to the ranges that end after `from`.
    pub(crate) fn find(
        &self,
        text: &[u8],
        mut from: usize,
        protected: &mut &[Range<usize>],
    ) -> Option<(Range<usize>, u32)> {
        let automaton = self.automaton.as_ref()?;
        loop {
            let found = automaton.find(Input::new(text).range(from..))?;
            let start = found.start();
            while protected.first().is_some_and(|range| range.end <= start) {
                *protected = &protected[1..];
            }
            let first_protected =
                protected.iter().find(|range| !range.is_empty()).map_or(usize::MAX, |range| range.start);
            let allowed = |special: Special, end| !special.is_markup || end <= first_protected;
            let special = self.specials[found.pattern().as_usize()];
            if allowed(special, found.end()) {
                return Some((found.range(), special.id));
            }
            // The longest one here reaches into protected text: a shorter one may not.
            for &length in self.lengths.iter().filter(|&&length| length < found.len()) {
                let end = start + length;
                if let Some(&special) = self.by_text.get(&text[start..end])
                    && allowed(special, end)
                {
                    return Some((start..end, special.id));
                }
            }
            from = start + 1;
        }
    }
}

#[derive(Clone, Copy)]
struct Special {
    id: u32,
    is_markup: bool,
}
