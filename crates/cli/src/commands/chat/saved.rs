//! Conversations in files.

use std::io::Write;
use std::path::Path;

use anyhow::{Context, Result, bail};
use minfer::Tokenizer;
use serde::{Deserialize, Serialize};
use tempfile::NamedTempFile;

use super::conversation::{Conversation, Exchange};
use super::prompt;
use super::settings::Settings;

/// Grows when a key changes its meaning or goes away.
const VERSION: u32 = 1;

/// What every version has.
#[derive(Deserialize)]
struct Head {
    minfer_chat: u32,
}

#[derive(Serialize, Deserialize)]
struct Saved {
    minfer_chat: u32,
    model: String,
    /// What templates call now, in seconds since 1970.
    #[serde(default)]
    began: Option<i64>,
    system: Option<String>,
    settings: SavedSettings,
    messages: Vec<Message>,
}

#[derive(Serialize, Deserialize)]
struct SavedSettings {
    temp: f32,
    top_k: i32,
    top_p: f32,
    min_p: f32,
    repeat_penalty: f32,
    seed: Option<u64>,
    n_predict: Option<usize>,
}

#[derive(Serialize, Deserialize)]
struct Message {
    role: Role,
    content: String,
    /// How the model wrote it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    tokens: Vec<u32>,
}

#[derive(Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Role {
    User,
    Assistant,
}

/// A conversation as JSON.
pub fn to_json(conversation: &Conversation, settings: &Settings, model: &str, began: i64) -> Result<String> {
    let mut messages = Vec::new();
    for Exchange { user, reply } in &conversation.exchanges {
        messages.push(Message { role: Role::User, content: user.clone(), tokens: Vec::new() });
        let tokens = reply.tokens.clone();
        messages.push(Message { role: Role::Assistant, content: reply.text.clone(), tokens });
    }
    let sampling = &settings.sampling;
    let saved = Saved {
        minfer_chat: VERSION,
        model: model.to_owned(),
        began: Some(began),
        system: conversation.system.clone(),
        settings: SavedSettings {
            temp: sampling.temperature,
            top_k: sampling.top_k,
            top_p: sampling.top_p,
            min_p: sampling.min_p,
            repeat_penalty: sampling.repeat_penalty,
            seed: settings.seed,
            n_predict: settings.n_predict,
        },
        messages,
    };
    Ok(serde_json::to_string_pretty(&saved)? + "\n")
}

/// What a file holds.
pub struct Loaded {
    pub conversation: Conversation,
    pub settings: Settings,
    /// With which model it was led.
    pub model: String,
    /// When it began, if the file says so.
    pub began: Option<i64>,
}

/// Reads a conversation. Settings that files do not hold are those of `settings`; tokens that do not say their text with
/// this tokenizer are left out.
pub fn from_json(text: &str, settings: &Settings, tokenizer: &Tokenizer) -> Result<Loaded> {
    let head: Head = serde_json::from_str(text).context("not a conversation that was saved with /save")?;
    if head.minfer_chat != VERSION {
        bail!("the conversation is of version {}: expected {VERSION}", head.minfer_chat);
    }
    let saved: Saved = serde_json::from_str(text).context("the conversation is damaged")?;
    let mut settings = settings.clone();
    let SavedSettings { temp, top_k, top_p, min_p, repeat_penalty, seed, n_predict } = saved.settings;
    let sampling = &mut settings.sampling;
    (sampling.temperature, sampling.top_k, sampling.top_p) = (temp, top_k, top_p);
    (sampling.min_p, sampling.repeat_penalty) = (min_p, repeat_penalty);
    sampling.check().context("the conversation is damaged: settings")?;
    (settings.seed, settings.n_predict) = (seed, n_predict);

    let mut exchanges = Vec::with_capacity(saved.messages.len() / 2);
    let mut messages = saved.messages.into_iter().enumerate();
    while let Some((index, user)) = messages.next() {
        if user.role != Role::User {
            bail!("the conversation is damaged: messages[{index}] is an answer, expected a user's message");
        }
        match messages.next() {
            Some((_, Message { role: Role::Assistant, content, tokens })) => {
                let reply = prompt::reply(tokenizer, content, tokens);
                exchanges.push(Exchange { user: user.content, reply });
            }
            _ => bail!("the conversation is damaged: messages[{index}] has no answer"),
        }
    }
    let system = saved.system.filter(|text| !text.is_empty());
    let conversation = Conversation { system, exchanges };
    Ok(Loaded { conversation, settings, model: saved.model, began: saved.began })
}

/// Writes a file as a whole or not at all.
pub fn write(path: &Path, text: &str) -> Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let cannot = || format!("cannot write {}", path.display());
    let mut file = NamedTempFile::new_in(folder).with_context(cannot)?;
    file.write_all(text.as_bytes()).with_context(cannot)?;
    file.persist(path).with_context(cannot)?;
    Ok(())
}
