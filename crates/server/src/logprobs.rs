//! How likely tokens were, in the forms of chats and of completions.

use minfer::{StreamDecoder, TokenLogprobs, Tokenizer};
use serde_json::{Map, Value as Json, json};

/// What stands for the logarithm of 0, which JSON has no number for.
const LEAST: f64 = -9999.0;

/// What a chat tells of tokens.
pub(crate) fn of_chat(tokens: &[TokenLogprobs], tokenizer: &Tokenizer) -> Json {
    json!({"content": list(tokens, tokenizer), "refusal": null})
}

/// What chats and responses tell of each token.
pub(crate) fn list(tokens: &[TokenLogprobs], tokenizer: &Tokenizer) -> Vec<Json> {
    let one = |id: u32, logprob: f64| json!({"token": shown(id, tokenizer), "logprob": logprob.max(LEAST), "bytes": tokenizer.piece(id)});
    let token = |token: &TokenLogprobs| {
        let mut out = one(token.id, token.logprob);
        out["top_logprobs"] = token.top.iter().map(|(id, logprob)| one(*id, *logprob)).collect();
        out
    };
    tokens.iter().map(token).collect()
}

/// What a completion tells of tokens: lists side by side, with the characters before each.
#[derive(Default)]
pub(crate) struct OfCompletion {
    decoder: StreamDecoder,
    offset: usize,
}

impl OfCompletion {
    /// The next tokens.
    pub fn next(&mut self, tokens: &[TokenLogprobs], tokenizer: &Tokenizer) -> Json {
        let mut offsets = Vec::with_capacity(tokens.len());
        for token in tokens {
            offsets.push(self.offset);
            if !tokenizer.is_control(token.id) {
                self.offset += self.decoder.push(tokenizer.piece(token.id)).chars().count();
            }
        }
        let top = |token: &TokenLogprobs| {
            let pair = |(id, logprob): &(u32, f64)| (shown(*id, tokenizer), json!(logprob.max(LEAST)));
            token.top.iter().map(pair).collect::<Map<String, Json>>()
        };
        json!({
            "tokens": tokens.iter().map(|token| shown(token.id, tokenizer)).collect::<Vec<_>>(),
            "token_logprobs": tokens.iter().map(|token| token.logprob.max(LEAST)).collect::<Vec<_>>(),
            "top_logprobs": tokens.iter().map(top).collect::<Vec<_>>(),
            "text_offset": offsets,
        })
    }
}

/// A token as text; a part of a character is told by its bytes.
fn shown(id: u32, tokenizer: &Tokenizer) -> String {
    if tokenizer.is_control(id) {
        return tokenizer.token_text(id).to_owned();
    }
    let piece = tokenizer.piece(id);
    match std::str::from_utf8(piece) {
        Ok(text) => text.to_owned(),
        Err(_) => piece.iter().fold("bytes:".to_owned(), |out, byte| out + &format!("\\x{byte:02x}")),
    }
}
