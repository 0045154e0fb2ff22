//! A conversation as data: who said what.

use serde_json::{Value as Json, json};

/// What was said so far.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Conversation {
    /// The system message, if there is one.
    pub system: Option<String>,
    /// Messages and their answers, in order.
    pub exchanges: Vec<Exchange>,
}

/// A message and its answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Exchange {
    pub user: String,
    pub reply: Reply,
}

/// An answer.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reply {
    pub text: String,
    /// The tokens of the text as the model chose them, which need not be those that the tokenizer would make of it; none
    /// where they are not known.
    pub tokens: Vec<u32>,
}

impl Conversation {
    /// The list that chat templates take: the first so many exchanges, and the message after them if there is one.
    pub fn messages(&self, exchanges: usize, next: Option<&str>) -> Json {
        let message = |role: &str, content: &str| json!({"role": role, "content": content});
        let mut messages: Vec<Json> = self.system.iter().map(|text| message("system", text)).collect();
        for exchange in &self.exchanges[..exchanges] {
            messages.push(message("user", &exchange.user));
            messages.push(message("assistant", &exchange.reply.text));
        }
        messages.extend(next.map(|text| message("user", text)));
        messages.into()
    }

    /// Forgets all that was said; the system message stays.
    pub fn reset(&mut self) {
        self.exchanges.clear();
    }

    /// Takes the last exchange back.
    pub fn undo(&mut self) -> Option<Exchange> {
        self.exchanges.pop()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn conversation() -> Conversation {
        let exchange = |user: &str, text: &str| Exchange {
            user: user.to_owned(),
            reply: Reply { text: text.to_owned(), tokens: Vec::new() },
        };
        Conversation { system: Some("be".into()), exchanges: vec![exchange("a", "b"), exchange("c", "d")] }
    }

    #[test]
    fn messages_are_the_system_text_then_exchanges_then_what_is_next() {
        let roles = |messages: &Json| -> Vec<String> {
            let text =
                |m: &Json| format!("{} {}", m["role"].as_str().unwrap(), m["content"].as_str().unwrap());
            messages.as_array().unwrap().iter().map(text).collect()
        };
        let all = roles(&conversation().messages(2, Some("e")));
        assert_eq!(all, ["system be", "user a", "assistant b", "user c", "assistant d", "user e"]);
        assert_eq!(roles(&conversation().messages(1, None)), ["system be", "user a", "assistant b"]);
    }

    #[test]
    fn undo_takes_one_exchange_back_and_reset_all_but_the_system_text() {
        let mut found = conversation();
        assert_eq!(found.undo().map(|e| e.user), Some("c".to_owned()));
        assert_eq!(found.exchanges.len(), 1);
        found.reset();
        assert_eq!((found.undo(), found.system), (None, Some("be".to_owned())));
    }
}
