//! A made-up vocabulary of the right size, byte-level BPE, SentencePiece or WordPiece, with the special tokens
//! and the chat template of the real model.

use std::collections::HashSet;

use gguf::{StrArray, Writer};

use crate::Error;
use crate::preset::Preset;

mod sentence_piece;
mod special;
mod word_piece;

/// The numbers of token types in `tokenizer.ggml.token_type`.
const NORMAL: i32 = 1;
const UNKNOWN: i32 = 2;
const CONTROL: i32 = 3;
const USER_DEFINED: i32 = 4;
const UNUSED: i32 = 5;
const BYTE: i32 = 6;

/// Adds the keys of the tokenizer.
pub fn add(w: &mut Writer, p: &Preset) -> Result<(), Error> {
    match p.arch {
        "gemma2" | "gemma3" | "phi3" => sentence_piece::add(w, p),
        "bert" => word_piece::add(w, p),
        _ => add_byte_level(w, p),
    }
}

fn add_byte_level(w: &mut Writer, p: &Preset) -> Result<(), Error> {
    let llama = p.arch == "llama";
    let special = match p.arch {
        "llama" => special::llama3(p.vocab),
        "qwen3" | "qwen3moe" => special::qwen3(),
        _ => special::qwen2(),
    };
    // Small Qwen vocabularies keep room for 32 special tokens, the real one starts them where the
    // real model does. What is left over is filled with unused tokens.
    let text_count = match p.arch {
        "llama" => p.vocab - special.len(),
        _ if p.vocab < 1024 => p.vocab - 32,
        _ => 151643,
    };
    let (text, merges) = byte_pairs(text_count);

    let shown = |token: &[u8]| token.iter().map(|&b| byte_char(b)).collect::<String>();
    let mut names: StrArray = text.iter().map(|token| shown(token)).collect();
    let mut types = vec![NORMAL; names.len()];
    for token in &special {
        names.push(token);
        types.push(if special::is_text(token) { USER_DEFINED } else { CONTROL });
    }
    while names.len() < p.vocab {
        names.push(&format!("[PAD{}]", names.len()));
        types.push(UNUSED);
    }
    let id = |name: &str| {
        let index = special.iter().position(|token| token == name).expect("one of the list");
        (text_count + index) as u32
    };

    w.key("tokenizer.ggml.model", "gpt2")?;
    w.key("tokenizer.ggml.pre", if llama { "llama-bpe" } else { "qwen2" })?;
    w.key("tokenizer.ggml.tokens", names)?;
    w.key("tokenizer.ggml.token_type", types)?;
    let merges: StrArray = merges
        .iter()
        .map(|&(token, cut)| {
            let (left, right) = text[token].split_at(cut);
            format!("{} {}", shown(left), shown(right))
        })
        .collect();
    w.key("tokenizer.ggml.merges", merges)?;
    let (bos, eos, pad, chat) = if llama {
        ("<|begin_of_text|>", "<|eot_id|>", "<|finetune_right_pad_id|>", special::LLAMA3_CHAT)
    } else {
        ("<|endoftext|>", "<|im_end|>", "<|endoftext|>", special::CHATML)
    };
    w.key("tokenizer.ggml.bos_token_id", id(bos))?;
    w.key("tokenizer.ggml.eos_token_id", id(eos))?;
    w.key("tokenizer.ggml.padding_token_id", id(pad))?;
    w.key("tokenizer.ggml.add_bos_token", llama)?;
    w.key("tokenizer.chat_template", chat)?;
    Ok(())
}

/// The printable character that byte-level vocabularies show a byte as: itself where it is
/// printable, else the next free one from U+0100 on.
fn byte_char(byte: u8) -> char {
    let printable = |b: u8| matches!(b, 33..=126 | 161..=172 | 174..=255);
    if printable(byte) {
        return char::from(byte);
    }
    let before = (0..byte).filter(|&b| !printable(b)).count() as u32;
    char::from_u32(256 + before).expect("below the surrogates")
}

/// Frequent pieces of English words.
const COMMON: &str = " t| a|in|he|re|on| the|er| s|at| w| o|en| c|it|is|an|or|es| b|ed| f|ing| p|\
    ou| an|al|ar| to| m| of| in| d| h| and|ic|as|le| th|ion|om|ll|ent| n| l|st| re|ve";

/// `count` tokens, the 256 bytes first, each other one the merge of two before it; and the merges
/// in order, as the index of the token and where it is cut in two.
fn byte_pairs(count: usize) -> (Vec<Vec<u8>>, Vec<(usize, usize)>) {
    let mut list = Pairs {
        tokens: (0..=255).map(|b| vec![b]).collect(),
        seen: (0..=255).map(|b| vec![b]).collect(),
        merges: Vec::new(),
        count,
    };
    // Twice, since a piece can need one that comes later: " the" is " t" and "he".
    for piece in [COMMON, COMMON].iter().flat_map(|c| c.split('|')) {
        for cut in 1..piece.len() {
            list.merge(piece.as_bytes(), cut);
        }
    }
    // Then all strings of two characters, of three, and so on.
    let letters: Vec<u8> = (b'a'..=b'z').chain([b' ']).chain(b'0'..=b'9').chain(b'A'..=b'Z').collect();
    let mut level: Vec<Vec<u8>> = letters.iter().map(|&c| vec![c]).collect();
    while list.tokens.len() < count {
        let longer = |w: &Vec<u8>| letters.iter().map(|&c| [w, &[c][..]].concat()).collect();
        level = level.iter().flat_map::<Vec<_>, _>(longer).collect();
        for word in &level {
            if list.tokens.len() >= count {
                break;
            }
            list.merge(word, word.len() - 1);
        }
    }
    (list.tokens, list.merges)
}

struct Pairs {
    tokens: Vec<Vec<u8>>,
    seen: HashSet<Vec<u8>>,
    merges: Vec<(usize, usize)>,
    count: usize,
}

impl Pairs {
    /// Adds a token if there is room, it is new, and both its parts are there.
    fn merge(&mut self, token: &[u8], cut: usize) {
        let (left, right) = token.split_at(cut);
        let full = self.tokens.len() >= self.count;
        if full || self.seen.contains(token) {
            return;
        }
        if self.seen.contains(left) && self.seen.contains(right) {
            self.merges.push((self.tokens.len(), cut));
            self.tokens.push(token.to_vec());
            self.seen.insert(token.to_vec());
        }
    }
}
