//! Splits text into the pieces inside which BPE merges.
//!
//! The published patterns are regular expressions with look-ahead. Each is a hand-written scanner
//! here: it never goes back further than one run of spaces, so its time is linear and its stack
//! constant on every text, and a test compares it with the pattern itself.

mod gpt2;
mod llama3;

use crate::Error;

/// How text is split before merging; each is named in a file by one of several names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PreTokenizer {
    /// `'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`
    Gpt2,
    /// Every `\p{N}` is a piece of its own; what lies between is split as [`PreTokenizer::Gpt2`].
    Smollm,
    /// `(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`
    Qwen2,
    /// As [`PreTokenizer::Qwen2`] with `\p{N}{1,3}`; a piece that is a token is not merged.
    LlamaBpe,
}

/// The names by which files call each pre-tokenizer, the main one first.
const NAMES: &[(PreTokenizer, &[&str])] = &[
    (
        PreTokenizer::Gpt2,
        &[
            "gpt-2",
            "gpt2",
            "phi-2",
            "jina-es",
            "jina-de",
            "jina-v2-es",
            "jina-v2-de",
            "gigachat",
            "a.x-4.0",
            "mellum",
        ],
    ),
    (PreTokenizer::Smollm, &["smollm"]),
    (PreTokenizer::Qwen2, &["qwen2", "deepseek-r1-qwen", "kormo", "megrez"]),
    (
        PreTokenizer::LlamaBpe,
        &["llama-bpe", "llama3", "llama-v3", "falcon3", "falcon-h1", "pixtral", "midm-2.0", "lfm2"],
    ),
];

impl PreTokenizer {
    /// The pre-tokenizer that a file calls `name`.
    pub fn from_name(name: Option<&str>) -> Result<PreTokenizer, Error> {
        let known = || PreTokenizer::names().collect::<Vec<_>>().join(", ");
        let Some(name) = name else {
            return Err(Error::PreTokenizerMissing { known: known() });
        };
        let found = NAMES.iter().find(|(_, names)| names.contains(&name));
        found
            .map(|&(pre, _)| pre)
            .ok_or_else(|| Error::PreTokenizerUnknown { found: name.to_owned(), known: known() })
    }

    /// All names that files may use.
    pub fn names() -> impl Iterator<Item = &'static str> {
        NAMES.iter().flat_map(|(_, names)| names.iter().copied())
    }

    /// The pieces of `text` in order; joined they are `text`, and none is empty.
    pub fn split(self, text: &str) -> impl Iterator<Item = &str> {
        let mut at = 0;
        std::iter::from_fn(move || {
            if at == text.len() {
                return None;
            }
            let start = at;
            at = self.piece_end(text, start);
            assert!(at > start, "a piece has at least one character");
            Some(&text[start..at])
        })
    }

    /// Where the piece that starts at `start`, inside `text`, ends.
    #[inline]
    fn piece_end(self, text: &str, start: usize) -> usize {
        match self {
            PreTokenizer::Gpt2 => gpt2::piece_end(text, start, gpt2::Digits::Run),
            PreTokenizer::Smollm => gpt2::piece_end(text, start, gpt2::Digits::Apart),
            PreTokenizer::Qwen2 => llama3::piece_end(text, start, 1),
            PreTokenizer::LlamaBpe => llama3::piece_end(text, start, 3),
        }
    }

    /// Whether a piece that is a token is that token, whatever the merges say.
    pub(crate) fn takes_whole_words(self) -> bool {
        self == PreTokenizer::LlamaBpe
    }

    /// Whether BOS is added where the file does not say.
    pub(crate) fn adds_bos(self) -> bool {
        self == PreTokenizer::LlamaBpe
    }
}

/// Length of `'s`, `'t`, `'m`, `'d`, `'re`, `'ve` or `'ll` at `at`; 0 if there is none.
fn contraction_len(text: &str, at: usize, any_case: bool) -> usize {
    let bytes = &text.as_bytes()[at..];
    if bytes[0] != b'\'' {
        return 0;
    }
    let lower = |index: usize| match bytes.get(index) {
        Some(byte) if any_case => byte.to_ascii_lowercase(),
        Some(&byte) => byte,
        None => 0,
    };
    match (lower(1), lower(2)) {
        (b's' | b't' | b'm' | b'd', _) => 2,
        (b'r' | b'v', b'e') | (b'l', b'l') => 3,
        _ => 0,
    }
}
