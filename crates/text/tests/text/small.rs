//! A byte-level vocabulary of a few hundred tokens, and the plainest BPE that encodes with it.

use std::collections::HashMap;

use text::{Tokenizer, VocabularyData};

const CONTROL: i32 = 3;
const USER_DEFINED: i32 = 4;

/// What a model file would hold.
#[derive(Clone)]
pub struct Small {
    pub pre: &'static str,
    pub tokens: Vec<String>,
    pub types: Vec<i32>,
    pub merges: Vec<String>,
    pub add_bos: Option<bool>,
    pub add_eos: Option<bool>,
}

/// Words in the order in which their letters are merged, left to right; `_` is a space, `/` a line feed.
const WORDS: &[&str] = &[
    "the", "he", "_t", "_the", "er", "in", "on", "an", "ing", "_a", "_w", "or", "ll", "hell", "hello",
    "_wor", "_world", "ld", "us", "usus", "ZZ", "ZZZZ", "ZZZZZZZZ", "__", "____", "________", "..", "....",
    "//", "////", "12", "123", "é", "中", "im", "end", "start", "st", "'s", "'ll", "<|", "|>",
];

pub fn spell(bytes: &[u8]) -> String {
    bytes.iter().map(|&byte| spell_byte(byte)).collect()
}

/// The alphabet of byte-level vocabularies, written down a second time.
fn spell_byte(byte: u8) -> char {
    let printable = |byte: u8| (0x21..=0x7E).contains(&byte) || (0xA1..=0xFF).contains(&byte) && byte != 0xAD;
    if printable(byte) {
        return char::from(byte);
    }
    let before = (0..byte).filter(|&byte| !printable(byte)).count();
    char::from_u32(0x100 + before as u32).unwrap()
}

impl Small {
    /// The 256 bytes, the merges that make [`WORDS`], and special tokens.
    pub fn new(pre: &'static str) -> Small {
        let mut small = Small {
            pre,
            tokens: (0..=255).map(|byte| spell(&[byte])).collect(),
            types: vec![1; 256],
            merges: Vec::new(),
            add_bos: None,
            add_eos: None,
        };
        for word in WORDS {
            let bytes = word.replace('_', " ").replace('/', "\n").into_bytes();
            small.add_word(&bytes);
        }
        for text in ["<|bos|>", "<|im_start|>", "<|im_end|>", "<|im_end|>x", "<|endoftext|>"] {
            small.add(text, CONTROL);
        }
        for text in ["<tool>", "</tool>", "\t\n"] {
            small.add(text, USER_DEFINED);
        }
        small.add("[UNUSED]", 5);
        small
    }

    /// Merges the parts that the word has so far, left to right, until it is one token.
    fn add_word(&mut self, word: &[u8]) {
        let mut parts = self.plain_bpe(word);
        while parts.len() > 1 {
            let (left, right) =
                (self.tokens[parts[0] as usize].clone(), self.tokens[parts[1] as usize].clone());
            let joined = format!("{left}{right}");
            let id = self
                .tokens
                .iter()
                .position(|token| *token == joined)
                .unwrap_or_else(|| self.add(&joined, 1) as usize);
            self.merges.push(format!("{left} {right}"));
            parts.splice(0..2, [id as u32]);
        }
    }

    pub fn add(&mut self, text: &str, kind: i32) -> u32 {
        self.tokens.push(text.to_owned());
        self.types.push(kind);
        self.tokens.len() as u32 - 1
    }

    pub fn id(&self, text: &str) -> u32 {
        self.tokens.iter().position(|token| token == text).unwrap() as u32
    }

    pub fn data(&self) -> VocabularyData<'_> {
        VocabularyData {
            model: "gpt2",
            pre: Some(self.pre),
            tokens: &self.tokens,
            token_types: Some(&self.types),
            merges: &self.merges,
            bos: Some(self.id("<|bos|>")),
            eos: Some(self.id("<|im_end|>")),
            add_bos: self.add_bos,
            add_eos: self.add_eos,
            ..Default::default()
        }
    }

    pub fn tokenizer(&self) -> Tokenizer {
        Tokenizer::new(self.data()).unwrap()
    }

    /// The definition of BPE: look at all pairs, join the best, begin again.
    pub fn plain_bpe(&self, word: &[u8]) -> Vec<u32> {
        let ids: HashMap<&str, u32> = self.tokens.iter().map(String::as_str).zip(0..).collect();
        let mut merges = HashMap::new();
        for (rank, merge) in self.merges.iter().enumerate() {
            let (left, right) = merge.split_once(' ').unwrap();
            let joined = ids[format!("{left}{right}").as_str()];
            merges.insert((ids[left], ids[right]), (rank, joined));
        }
        let mut parts: Vec<u32> = word.iter().map(|&byte| ids[spell(&[byte]).as_str()]).collect();
        loop {
            let pairs = parts.windows(2).enumerate();
            let ranked = pairs.filter_map(|(at, pair)| {
                merges.get(&(pair[0], pair[1])).map(|&(rank, joined)| (rank, at, joined))
            });
            let Some((_, at, joined)) = ranked.min() else { return parts };
            parts.splice(at..at + 2, [joined]);
        }
    }
}
