//! Sequences that outlive an answer: the next prompt that begins alike computes only the rest.

use std::ops::ControlFlow;

use runtime::{Item, Rows, RuntimeError, SeqId};

use crate::{Error, Event, Session};

/// Positions in the cache of a session, and their tokens. It goes with the session that made it and keeps its pages until
/// [`Session::remove`], or until the session is dropped.
#[derive(Debug)]
pub struct Sequence {
    pub(crate) id: SeqId,
    pub(crate) tokens: Vec<u32>,
}

impl Sequence {
    /// The tokens of its positions.
    pub fn tokens(&self) -> &[u32] {
        &self.tokens
    }
}

impl Session {
    /// A new, empty sequence. A session has room for as many full ones as [`crate::SessionOptions`] says.
    pub fn sequence(&mut self) -> Sequence {
        Sequence { id: self.engine.create(), tokens: Vec::new() }
    }

    /// Gives back the pages of a sequence.
    pub fn remove(&mut self, sequence: Sequence) -> Result<(), Error> {
        Ok(self.engine.remove(sequence.id)?)
    }

    /// Makes the tokens those of a sequence, and computes what it has not yet; how many it had. Where a sliding window has let go
    /// of what the first new token sees, that is none. `sink` is told of the progress; where it ends the work, the sequence
    /// has the first of the tokens.
    pub fn read(
        &mut self,
        sequence: &mut Sequence,
        tokens: &[u32],
        sink: &mut dyn FnMut(Event) -> ControlFlow<()>,
    ) -> Result<usize, Error> {
        let n_ctx = self.n_ctx();
        if tokens.len() > n_ctx {
            return Err(Error::PromptTooLong { prompt: tokens.len(), n_ctx });
        }
        let cached = self.cut(sequence, tokens)?;
        let _ = self.append(sequence, &tokens[cached..], tokens.len(), sink)?;
        Ok(cached)
    }

    /// Cuts a sequence to what it has in common with the tokens; how many that are.
    pub(crate) fn cut(&mut self, sequence: &mut Sequence, tokens: &[u32]) -> Result<usize, Error> {
        let common = sequence.tokens.iter().zip(tokens).take_while(|(a, b)| a == b).count();
        let kept = match self.engine.truncate(sequence.id, common) {
            Err(RuntimeError::WindowGone { .. }) => {
                self.engine.truncate(sequence.id, 0)?;
                0
            }
            other => other.map(|()| common)?,
        };
        sequence.tokens.truncate(kept);
        Ok(kept)
    }

    /// Computes tokens batch by batch, so that the sink hears of it, and ends where it says so. `total` tokens are wanted in all.
    pub(crate) fn append(
        &mut self,
        sequence: &mut Sequence,
        tokens: &[u32],
        total: usize,
        sink: &mut dyn FnMut(Event) -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>, Error> {
        for batch in tokens.chunks(self.engine.params().n_ubatch) {
            let done = sequence.tokens.len();
            if sink(Event::Prompt { done, total }).is_break() {
                return Ok(ControlFlow::Break(()));
            }
            self.process(sequence, batch, Rows::None, &mut |_| {})?;
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Computes one batch. After an error the sequence has what it had; where a window has let go of what that sees, nothing.
    pub(crate) fn process(
        &mut self,
        sequence: &mut Sequence,
        tokens: &[u32],
        rows: Rows,
        sink: &mut dyn FnMut(&[f32]),
    ) -> Result<(), Error> {
        let items = [Item { seq: sequence.id, tokens, rows }];
        let done = self.engine.process(&items, &mut |_, _, row| sink(row));
        if let Err(error) = done {
            let len = self.engine.len(sequence.id).unwrap_or(0);
            sequence.tokens.truncate(len);
            return Err(error.into());
        }
        sequence.tokens.extend_from_slice(tokens);
        Ok(())
    }
}
