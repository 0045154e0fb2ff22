//! A made-up SentencePiece vocabulary: special tokens, bytes, words, characters, fillers.

use std::collections::HashSet;

use gguf::{StrArray, Writer};

use super::{BYTE, CONTROL, NORMAL, UNKNOWN, UNUSED, byte_pairs, special};
use crate::Error;
use crate::preset::Preset;

/// The score of a token that no merge makes.
const NO_MERGE: f32 = -1000.0;

/// Special tokens of Gemma and Phi 3, in order.
const GEMMA: &str = "<pad> <eos> <bos> <unk> <start_of_turn> <end_of_turn>";
const PHI3: &str = "<unk> <s> </s> <|endoftext|> <|assistant|> <|system|> <|end|> <|user|>";

/// Adds the keys of the tokenizer.
pub fn add(w: &mut Writer, p: &Preset) -> Result<(), Error> {
    let phi = p.arch == "phi3";
    let list = vocabulary(if phi { PHI3 } else { GEMMA }, p.vocab);
    w.key("tokenizer.ggml.model", "llama")?;
    w.key("tokenizer.ggml.pre", "default")?;
    w.key("tokenizer.ggml.tokens", list.names.iter().collect::<StrArray>())?;
    w.key("tokenizer.ggml.scores", list.scores)?;
    w.key("tokenizer.ggml.token_type", list.types)?;
    let id = |token: &str| list.names.iter().position(|n| n == token).expect("one of the list") as u32;
    let [bos, eos, pad, eot] = match phi {
        true => ["<s>", "<|endoftext|>", "<|endoftext|>", "<|end|>"],
        false => ["<bos>", "<eos>", "<pad>", "<end_of_turn>"],
    };
    w.key("tokenizer.ggml.bos_token_id", id(bos))?;
    w.key("tokenizer.ggml.eos_token_id", id(eos))?;
    w.key("tokenizer.ggml.unknown_token_id", id("<unk>"))?;
    w.key("tokenizer.ggml.padding_token_id", id(pad))?;
    w.key("tokenizer.ggml.eot_token_id", id(eot))?;
    w.key("tokenizer.ggml.add_bos_token", true)?;
    w.key("tokenizer.ggml.add_eos_token", false)?;
    if !phi {
        w.key("tokenizer.ggml.add_space_prefix", false)?;
    }
    w.key("tokenizer.chat_template", if phi { special::PHI3_CHAT } else { special::GEMMA_CHAT })?;
    Ok(())
}

#[derive(Default)]
struct List {
    names: Vec<String>,
    seen: HashSet<String>,
    scores: Vec<f32>,
    types: Vec<i32>,
}

impl List {
    fn push(&mut self, name: String, score: f32, ty: i32) {
        self.seen.insert(name.clone());
        self.names.push(name);
        self.scores.push(score);
        self.types.push(ty);
    }
}

fn vocabulary(special: &str, count: usize) -> List {
    let mut list = List::default();
    for name in special.split(' ') {
        list.push(name.to_owned(), NO_MERGE, if name == "<unk>" { UNKNOWN } else { CONTROL });
    }
    for byte in 0..=255 {
        list.push(format!("<0x{byte:02X}>"), NO_MERGE, BYTE);
    }
    let (words, _) = byte_pairs(256 + 4096.min(count - 400));
    let word = |token: &Vec<u8>| String::from_utf8(token.clone()).expect("ASCII").replace(' ', "\u{2581}");
    let characters = ('!'..='~').chain(['\u{e9}', '\u{4e2d}']);
    let characters = ['\u{2581}', '\n'].into_iter().chain(characters).map(String::from);
    for name in words[256..].iter().map(word).chain(characters) {
        if list.names.len() < count && !list.seen.contains(&name) {
            // Earlier pieces are merged first.
            let score = -(list.names.len() as f32 - 262.0);
            list.push(name, score, NORMAL);
        }
    }
    while list.names.len() < count {
        list.push(format!("<unused{}>", list.names.len()), NO_MERGE, UNUSED);
    }
    list
}
