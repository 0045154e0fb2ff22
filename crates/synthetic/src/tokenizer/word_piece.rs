//! A made-up WordPiece vocabulary: special tokens, characters, frequent pieces, fillers. Starts of words carry U+2581.

use std::collections::HashSet;

use gguf::{StrArray, Writer};

use super::{COMMON, CONTROL, NORMAL};
use crate::Error;
use crate::preset::Preset;

const SPECIAL: [&str; 5] = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"];
const LETTERS: &str = "abcdefghijklmnopqrstuvwxyz0123456789";
const MARKS: &str = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~";

/// Adds the keys of the tokenizer.
pub fn add(w: &mut Writer, p: &Preset) -> Result<(), Error> {
    let names = vocabulary(p.vocab);
    let types: Vec<i32> = (0..p.vocab).map(|id| if id < SPECIAL.len() { CONTROL } else { NORMAL }).collect();
    let id = |token: &str| SPECIAL.iter().position(|t| *t == token).expect("one of the list") as u32;
    w.key("tokenizer.ggml.token_type_count", 2u32)?;
    w.key("tokenizer.ggml.model", "bert")?;
    w.key("tokenizer.ggml.pre", "bert-bge")?;
    w.key("tokenizer.ggml.tokens", names.iter().collect::<StrArray>())?;
    w.key("tokenizer.ggml.token_type", types)?;
    w.key("tokenizer.ggml.bos_token_id", id("[CLS]"))?;
    w.key("tokenizer.ggml.eos_token_id", id("[SEP]"))?;
    w.key("tokenizer.ggml.unknown_token_id", id("[UNK]"))?;
    // Spelled so in every file.
    w.key("tokenizer.ggml.seperator_token_id", id("[SEP]"))?;
    w.key("tokenizer.ggml.padding_token_id", id("[PAD]"))?;
    w.key("tokenizer.ggml.cls_token_id", id("[CLS]"))?;
    w.key("tokenizer.ggml.mask_token_id", id("[MASK]"))?;
    Ok(())
}

fn vocabulary(count: usize) -> Vec<String> {
    let characters = |text: &'static str| text.chars().map(String::from);
    let start = |piece: String| format!("\u{2581}{piece}");
    let words = || COMMON.split('|').map(|piece| piece.trim_start().to_owned());
    let starts = characters(LETTERS).chain(characters(MARKS)).map(start);
    let pieces = starts.chain(characters(LETTERS)).chain(words().map(start)).chain(words());
    let mut names: Vec<String> = SPECIAL.map(str::to_owned).to_vec();
    let mut seen: HashSet<String> = names.iter().cloned().collect();
    for piece in pieces {
        if names.len() < count && seen.insert(piece.clone()) {
            names.push(piece);
        }
    }
    while names.len() < count {
        names.push(format!("\u{2581}[unused{}]", names.len()));
    }
    names
}
