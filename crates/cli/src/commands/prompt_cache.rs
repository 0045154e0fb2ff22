//! `minfer run --prompt-cache`: what is computed of a prompt, in a file for the next one.

use std::io::ErrorKind;
use std::ops::ControlFlow;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Result;
use minfer::{Error, Event, SavedError, Sequence, Session};

use crate::interrupt::Interrupt;
use crate::progress::Progress;
use crate::tell;

/// A sequence for a prompt.
pub struct Prepared {
    /// Has all of the prompt but its last token, whose logits are wanted, unless Ctrl-C ended the reading.
    pub sequence: Sequence,
    /// Tokens of the prompt that were not computed.
    pub cached: usize,
    /// What it took.
    pub time: Duration,
}

/// Takes from the file what it has of the prompt, computes the rest, and writes it back unless it is to stay as it is. A file
/// that is damaged or of something else only costs time; one that is no saved sequence is an error and is not touched.
pub fn read(
    session: &mut Session,
    path: &Path,
    read_only: bool,
    prompt: &[u32],
    interrupt: &Interrupt,
) -> Result<Prepared> {
    let started = Instant::now();
    let mut sequence = load(session, path, read_only)?;
    // What cannot be answered is refused when it is to be answered.
    if prompt.is_empty() || prompt.len() > session.n_ctx() {
        return Ok(Prepared { sequence, cached: 0, time: Duration::ZERO });
    }
    let wanted = &prompt[..prompt.len() - 1];
    let mut progress = Progress::new("reading the prompt");
    let cached = session.read(&mut sequence, wanted, &mut |event| {
        if let Event::Prompt { done, .. } = event {
            progress.set(done as u64, prompt.len() as u64);
        }
        if interrupt.happened() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    progress.finish();
    let cached = cached?;
    if !read_only && cached < wanted.len() && sequence.tokens() == wanted {
        session.save(&sequence, path)?;
    }
    Ok(Prepared { sequence, cached, time: started.elapsed() })
}

fn load(session: &mut Session, path: &Path, read_only: bool) -> Result<Sequence> {
    match session.load(path) {
        Ok(sequence) => Ok(sequence),
        Err(Error::Saved { error, .. }) if is_missing(&error) && !read_only => Ok(session.sequence()),
        Err(Error::Saved { path, error }) if is_missing(&error) || error.is_of_a_saved_sequence() => {
            let path = path.display();
            tell(&format!("note: --prompt-cache: {path}: {error}: all of the prompt is computed"));
            Ok(session.sequence())
        }
        Err(other) => Err(other.into()),
    }
}

fn is_missing(error: &SavedError) -> bool {
    matches!(error, SavedError::Io(error) if error.kind() == ErrorKind::NotFound)
}
