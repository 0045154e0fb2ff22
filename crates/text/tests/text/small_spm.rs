//! A SentencePiece vocabulary of some hundred tokens, and the plainest encoder for it.

use std::collections::HashMap;

use text::{Tokenizer, VocabularyData};

const NORMAL: i32 = 1;
const UNKNOWN: i32 = 2;
const CONTROL: i32 = 3;
const USER_DEFINED: i32 = 4;
const UNUSED: i32 = 5;
const BYTE: i32 = 6;

/// What a model file would hold.
#[derive(Clone)]
pub struct SmallSpm {
    pub tokens: Vec<String>,
    pub types: Vec<i32>,
    pub scores: Vec<f32>,
    pub add_bos: Option<bool>,
    pub add_eos: Option<bool>,
    pub add_space_prefix: Option<bool>,
}

/// Pieces of more than one character, the best first; those with one number are equally good.
const PIECES: &[(&str, i32)] = &[
    ("he", 1),
    ("▁t", 1),
    ("ll", 2),
    ("▁the", 3),
    ("llo", 4),
    ("hello", 4),
    ("▁hello", 5),
    ("▁w", 6),
    ("or", 6),
    ("ld", 6),
    ("▁wor", 7),
    ("▁world", 8),
    ("us", 9),
    ("usus", 10),
    ("aa", 11),
    ("aaa", 11),
    ("aaaa", 12),
    ("▁▁", 13),
    ("▁▁▁▁", 14),
    (">▁</", 15),
    ("</", 16),
    ("s>", 17),
    ("ab", 20),
    ("bc", 20),
    ("中国", 21),
    ("é中", 21),
];

impl SmallSpm {
    /// Markup, the 256 bytes, letters, [`PIECES`] and user-defined tokens.
    pub fn new() -> SmallSpm {
        let mut small = SmallSpm {
            tokens: Vec::new(),
            types: Vec::new(),
            scores: Vec::new(),
            add_bos: None,
            add_eos: None,
            add_space_prefix: None,
        };
        small.add("<unk>", UNKNOWN, 0.0);
        small.add("<s>", CONTROL, 0.0);
        small.add("</s>", CONTROL, 0.0);
        for byte in 0..=255 {
            small.add(&format!("<0x{byte:02X}>"), BYTE, 0.0);
        }
        for &(piece, place) in PIECES {
            small.add(piece, NORMAL, -place as f32);
        }
        for char in "▁abcdehlorstuwxyz<>/_|.é中国".chars() {
            small.add(&char.to_string(), NORMAL, -100.0);
        }
        small.add("<tool>", USER_DEFINED, -1000.0);
        small.add("\n\n", USER_DEFINED, -1000.0);
        small.add("  ", USER_DEFINED, -1000.0);
        small.add("ca", UNUSED, 0.0);
        small.add("<turn>", CONTROL, -1000.0);
        small
    }

    pub fn add(&mut self, text: &str, kind: i32, score: f32) -> u32 {
        self.tokens.push(text.to_owned());
        self.types.push(kind);
        self.scores.push(score);
        self.tokens.len() as u32 - 1
    }

    pub fn id(&self, text: &str) -> u32 {
        self.tokens.iter().position(|token| token == text).unwrap() as u32
    }

    /// Takes a token away, as if the vocabulary had none.
    pub fn remove(&mut self, text: &str) {
        let id = self.id(text) as usize;
        self.tokens[id] = format!("removed {text}");
        self.types[id] = UNUSED;
    }

    pub fn data(&self) -> VocabularyData<'_> {
        VocabularyData {
            model: "llama",
            tokens: &self.tokens,
            token_types: Some(&self.types),
            scores: Some(&self.scores),
            bos: Some(self.id("<s>")),
            eos: Some(self.id("</s>")),
            add_bos: self.add_bos,
            add_eos: self.add_eos,
            add_space_prefix: self.add_space_prefix,
            ..Default::default()
        }
    }

    pub fn tokenizer(&self) -> Tokenizer {
        Tokenizer::new(self.data()).unwrap()
    }

    /// The definition: look at all neighbours in the whole text, join the two that spell the token
    /// with the highest score, the leftmost ones among equals, begin again; then spell in bytes what
    /// is no token. For texts without special tokens.
    pub fn plain(&self, text: &str) -> Vec<u32> {
        let may_be_text = |id: usize| [NORMAL, USER_DEFINED].contains(&self.types[id]);
        let ids: HashMap<&str, usize> =
            self.tokens.iter().map(String::as_str).zip(0..).filter(|&(_, id)| may_be_text(id)).collect();
        let mut text = text.replace(' ', "▁");
        if self.add_space_prefix.unwrap_or(true) && !text.is_empty() {
            text.insert(0, '▁');
        }
        let mut parts: Vec<String> = text.chars().map(String::from).collect();
        loop {
            let mut best: Option<(f32, usize)> = None;
            for at in 1..parts.len() {
                let joined = format!("{}{}", parts[at - 1], parts[at]);
                if let Some(&id) = ids.get(joined.as_str())
                    && best.is_none_or(|(score, _)| self.scores[id] > score)
                {
                    best = Some((self.scores[id], at));
                }
            }
            let Some((_, at)) = best else { break };
            let right = parts.remove(at);
            parts[at - 1].push_str(&right);
        }
        let mut out = Vec::new();
        for part in parts {
            match ids.get(part.as_str()) {
                Some(&id) => out.push(id as u32),
                None => {
                    out.extend(part.replace('▁', " ").bytes().map(|byte| self.id(&format!("<0x{byte:02X}>"))))
                }
            }
        }
        out
    }
}
