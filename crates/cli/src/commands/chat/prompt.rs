//! The tokens of a conversation. Answers stand in them as the model wrote them, so that the cache, which holds just those
//! tokens, serves the next prompt up to its new part.

use minfer::{DateTime, Error, Model, RenderOptions, Tokenizer};

use super::conversation::{Conversation, Reply};

/// Makes prompts.
pub struct Prompts {
    /// What templates call now: one moment for the whole conversation, or else it would begin differently each time.
    now: DateTime,
    /// The template's tokens up to each answer, as they were last: most often they are the same again.
    before: Vec<Vec<u32>>,
}

impl Prompts {
    /// Of a conversation that began so many seconds after 1970.
    pub fn new(began: i64) -> Prompts {
        Prompts { now: DateTime::from_unix(began, 0), before: Vec::new() }
    }

    /// The prompt that asks for the answer to `next`; without it, what the conversation takes by itself.
    pub fn tokens(
        &mut self,
        model: &Model,
        conversation: &Conversation,
        next: Option<&str>,
    ) -> Result<Vec<u32>, Error> {
        let count = conversation.exchanges.len();
        let rendered = self.render(model, conversation, count, next)?;
        let (mut tokens, mut at) = (Vec::with_capacity(rendered.len()), 0);
        for (index, exchange) in conversation.exchanges.iter().enumerate() {
            if exchange.reply.tokens.is_empty() {
                continue;
            }
            if !self.before.get(index).is_some_and(|before| rendered.starts_with(before)) {
                self.before.resize(self.before.len().max(index + 1), Vec::new());
                self.before[index] = self.render(model, conversation, index, Some(&exchange.user))?;
            }
            let before = &self.before[index];
            // A template may write earlier messages otherwise than it wrote them when they were the last.
            if before.len() < at || !rendered.starts_with(before) {
                break;
            }
            let pieces = rendered[before.len()..].iter().map(|id| written(model.tokenizer(), *id));
            let Some(length) = length_of(exchange.reply.text.as_bytes(), pieces) else { continue };
            tokens.extend_from_slice(&rendered[at..before.len()]);
            tokens.extend_from_slice(&exchange.reply.tokens);
            at = before.len() + length;
        }
        tokens.extend_from_slice(&rendered[at..]);
        Ok(tokens)
    }

    /// Text in a message never becomes a control token.
    fn render(
        &self,
        model: &Model,
        conversation: &Conversation,
        exchanges: usize,
        next: Option<&str>,
    ) -> Result<Vec<u32>, Error> {
        let add_generation_prompt = next.is_some();
        let options =
            RenderOptions { add_generation_prompt, now: Some(self.now), ..RenderOptions::default() };
        model.tokenize_chat(&conversation.messages(exchanges, next), &options)
    }
}

/// An answer as it stays in the conversation: with the tokens without the one that ended it, if they say the text and nothing
/// else. Control tokens do not show in a text, so no file can bring some in.
pub fn reply(tokenizer: &Tokenizer, text: String, mut tokens: Vec<u32>) -> Reply {
    if tokens.last().is_some_and(|last| (*last as usize) < tokenizer.n_vocab() && tokenizer.is_eog(*last)) {
        tokens.pop();
    }
    let known = |id: &u32| (*id as usize) < tokenizer.n_vocab() && !tokenizer.is_control(*id);
    let says_it = tokens.iter().all(known) && tokenizer.decode(&tokens, false) == text;
    Reply { text, tokens: if says_it { tokens } else { Vec::new() } }
}

/// The bytes of a token of text; none of a control token, which no message holds.
fn written(tokenizer: &Tokenizer, id: u32) -> Option<&[u8]> {
    (!tokenizer.is_control(id)).then(|| tokenizer.piece(id))
}

/// How many of the tokens, from the first, are just this text; none if it ends within one, or they say something else.
fn length_of<'a>(text: &[u8], pieces: impl Iterator<Item = Option<&'a [u8]>>) -> Option<usize> {
    let mut rest = text;
    for (count, piece) in pieces.enumerate() {
        if rest.is_empty() {
            return Some(count);
        }
        rest = rest.strip_prefix(piece?)?;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_so_many_tokens_if_it_ends_where_one_ends() {
        let pieces: [Option<&[u8]>; 4] = [Some(b"ab"), Some(b"c"), None, Some(b"d")];
        let length = |text: &str| length_of(text.as_bytes(), pieces.into_iter());
        assert_eq!(length(""), Some(0));
        assert_eq!(length("ab"), Some(1));
        assert_eq!(length("abc"), Some(2));
        for other in ["a", "abx", "abcd", "b"] {
            assert_eq!(length(other), None, "{other}");
        }
    }
}
