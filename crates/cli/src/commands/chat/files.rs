//! Conversations in files, and what the cache has of them in a file beside each.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use minfer::{Engine, Error, SavedError, human_bytes};

use super::prompt::Prompts;
use super::{Chat, saved};
use crate::tell;

impl Chat {
    /// Goes on with a saved conversation; on an error nothing has changed.
    pub(super) fn load(&mut self, path: &Path) -> Result<()> {
        let text =
            std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
        let model = self.engine.model();
        let loaded = saved::from_json(&text, &self.settings, model.tokenizer());
        let loaded = loaded.with_context(|| path.display().to_string())?;
        let name = model.name();
        if loaded.model != name {
            tell(&format!("note: the conversation was led with {}, and goes on with {name}", loaded.model));
        }
        let count = loaded.conversation.exchanges.len();
        (self.conversation, self.settings, self.last) = (loaded.conversation, loaded.settings, None);
        self.began = loaded.began.unwrap_or(self.began);
        self.prompts = Prompts::new(self.began);
        self.note(&format!("{count} exchanges from {}", path.display()));
        if let Some(tokens) = self.tokens_so_far() {
            match load_cache(&self.engine, path, &tokens) {
                Ok(known) => self.note(&format!("{known} of {} tokens need no computing", tokens.len())),
                Err(why) => {
                    tell(&format!("note: {why}: {} tokens are computed with the next message", tokens.len()))
                }
            }
        }
        Ok(())
    }

    /// Writes the conversation, and what the cache has of it. Without the cache it is saved all the same.
    pub(super) fn save(&mut self, path: &Path) -> Result<()> {
        let name = self.engine.model().name();
        let text = saved::to_json(&self.conversation, &self.settings, &name, self.began)?;
        saved::write(path, &text)?;
        self.note(&format!("saved to {}", path.display()));
        if let Some(tokens) = self.tokens_so_far() {
            match save_cache(&self.engine, path, &tokens) {
                Ok(what) => self.note(&what),
                Err(why) => tell(&format!("note: the conversation is saved without the cache: {why}")),
            }
        }
        Ok(())
    }
}

/// The file beside a conversation's: its name with `.kv` behind it.
fn beside(conversation: &Path) -> PathBuf {
    conversation.with_added_extension("kv")
}

/// Writes what the cache has of these tokens; what became of it, or why nothing did. A file that is there already stays then:
/// it may still serve.
fn save_cache(engine: &Engine, conversation: &Path, tokens: &[u32]) -> Result<String, String> {
    let path = beside(conversation);
    match engine.save(tokens, &path) {
        Ok(Some(saved)) => {
            let (count, bytes) = (saved.tokens, human_bytes(saved.bytes));
            Ok(format!("the cache of {count} tokens is in {} ({bytes})", path.display()))
        }
        Ok(None) => Ok("the cache has nothing of it".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

/// Brings back what was saved of these tokens: how many they are, or why they must be computed again.
fn load_cache(engine: &Engine, conversation: &Path, tokens: &[u32]) -> Result<usize, String> {
    let path = beside(conversation);
    let loaded = engine.load(&path).map_err(|error| match error {
        Error::Saved { error, .. } if is_missing(&error) => format!("there is no {}", path.display()),
        other => other.to_string(),
    })?;
    if tokens.starts_with(&loaded) {
        return Ok(loaded.len());
    }
    let common = tokens.iter().zip(&loaded).take_while(|(a, b)| a == b).count();
    Err(format!(
        "{} has {} tokens, of which {common} are those of the conversation",
        path.display(),
        loaded.len()
    ))
}

fn is_missing(error: &SavedError) -> bool {
    matches!(error, SavedError::Io(error) if error.kind() == ErrorKind::NotFound)
}
