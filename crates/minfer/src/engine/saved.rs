//! What an engine keeps, in files.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{Sender, channel};

use runtime::RuntimeError;

use super::Engine;
use super::scheduler::{Command, Scheduler};
use crate::{Error, SavedError, Sequence};

/// What went into a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Saved {
    /// Positions.
    pub tokens: usize,
    /// Bytes of the file.
    pub bytes: u64,
}

/// A file to write or to read, and who waits for it.
pub(super) enum FileCommand {
    Save { tokens: Vec<u32>, path: PathBuf, reply: Sender<Result<Option<Saved>, Error>> },
    Load { path: PathBuf, reply: Sender<Result<Vec<u32>, Error>> },
}

impl Engine {
    /// Writes to a file what is kept of a text that begins with these tokens, and waits for it; none, and no file, if that is
    /// nothing. What is kept begins when an answer is complete. [`crate::Session::save`] says what is in the file.
    ///
    /// # Errors
    /// [`Error::Saved`] where the file cannot be written.
    pub fn save(&self, tokens: &[u32], path: impl AsRef<Path>) -> Result<Option<Saved>, Error> {
        let (tokens, path) = (tokens.to_vec(), path.as_ref().to_owned());
        self.ask(|reply| FileCommand::Save { tokens, path, reply })
    }

    /// Keeps what is in a file that [`Engine::save`] or [`crate::Session::save`] wrote, and waits for it: requests that begin
    /// with its tokens, which are returned, compute only the rest. Other things that are kept give way where there is no room.
    ///
    /// # Errors
    /// [`Error::Saved`] as of [`crate::Session::load`]; [`Error::Zero`] if the engine keeps nothing.
    pub fn load(&self, path: impl AsRef<Path>) -> Result<Vec<u32>, Error> {
        let path = path.as_ref().to_owned();
        self.ask(|reply| FileCommand::Load { path, reply })
    }

    fn ask<T>(&self, command: impl FnOnce(Sender<Result<T, Error>>) -> FileCommand) -> Result<T, Error> {
        let (reply, answer) = channel();
        self.commands.send(Command::File(command(reply))).map_err(|_| Error::EngineStopped)?;
        answer.recv().map_err(|_| Error::EngineStopped)?
    }
}

impl Scheduler {
    /// Does it and tells who waits, if anybody still does.
    pub(super) fn obey(&mut self, command: FileCommand) {
        match command {
            FileCommand::Save { tokens, path, reply } => {
                let _ = reply.send(self.save(&tokens, &path));
            }
            FileCommand::Load { path, reply } => {
                let _ = reply.send(self.load(&path));
            }
        }
        self.tell_figures();
    }

    fn save(&mut self, tokens: &[u32], path: &Path) -> Result<Option<Saved>, Error> {
        let Some((seq, count)) = self.kept.resume(tokens, &[], &mut self.session.engine)? else {
            return Ok(None);
        };
        let saved = self.session.save_tokens(seq, &tokens[..count], path);
        self.session.engine.remove(seq)?;
        Ok(Some(Saved { tokens: count, bytes: saved? }))
    }

    fn load(&mut self, path: &Path) -> Result<Vec<u32>, Error> {
        if !self.kept.keeps() {
            return Err(Error::Zero("the number of contexts that are kept"));
        }
        loop {
            match self.session.load(path) {
                Ok(Sequence { id, tokens }) => {
                    self.kept.keep(id, tokens.clone(), &mut self.session.engine)?;
                    return Ok(tokens);
                }
                Err(error) => {
                    if !is_full(&error) || !self.kept.forget_oldest(&mut self.session.engine)? {
                        return Err(error);
                    }
                }
            }
        }
    }
}

fn is_full(error: &Error) -> bool {
    let Error::Saved { error, .. } = error else { return false };
    matches!(**error, SavedError::Runtime(RuntimeError::OutOfPages { .. }))
}
