//! Sequences that are kept for requests that begin alike.

use runtime::{Engine, RuntimeError, SeqId};

/// The least positions that are worth keeping and looking for.
const POSITIONS_MIN: usize = 16;

/// Sequences in no batch, with the tokens of their positions. They share pages with each other and with those that go on.
#[derive(Debug, Default)]
pub(super) struct Kept {
    entries: Vec<Entry>,
    /// Grows with every use.
    clock: u64,
    /// The most entries.
    most: usize,
}

#[derive(Debug)]
struct Entry {
    seq: SeqId,
    tokens: Vec<u32>,
    used: u64,
}

impl Kept {
    pub fn new(most: usize) -> Kept {
        Kept { most, ..Kept::default() }
    }

    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// A new sequence with as many positions of the prompt as some entry has, but for the prompt's last, whose logits are
    /// wanted; and how many. Layers with a window may have let go of what a cut needs: then the next best serves.
    pub fn begin(&mut self, prompt: &[u32], engine: &mut Engine) -> Result<(SeqId, usize), RuntimeError> {
        let most = prompt.len() - 1;
        let common =
            |entry: &Entry| entry.tokens.iter().zip(&prompt[..most]).take_while(|(a, b)| a == b).count();
        let mut order: Vec<(usize, usize)> = self.entries.iter().map(common).enumerate().collect();
        order.sort_by_key(|(index, common)| (std::cmp::Reverse(*common), self.entries[*index].tokens.len()));
        for (index, common) in order.into_iter().take_while(|(_, common)| *common >= POSITIONS_MIN) {
            let seq = engine.fork(self.entries[index].seq)?;
            match engine.truncate(seq, common) {
                Ok(()) => {
                    self.clock += 1;
                    self.entries[index].used = self.clock;
                    return Ok((seq, common));
                }
                Err(RuntimeError::WindowGone { .. }) => engine.remove(seq)?,
                Err(other) => return Err(other),
            }
        }
        Ok((engine.create(), 0))
    }

    /// Keeps a sequence, or removes it if it is not worth it. One that it continues needs no entry of its own any more,
    /// unless it may be cut where this one cannot.
    pub fn keep(&mut self, seq: SeqId, tokens: Vec<u32>, engine: &mut Engine) -> Result<(), RuntimeError> {
        let known = self.entries.iter().any(|entry| entry.tokens.starts_with(&tokens) && !has_window(engine));
        if tokens.len() < POSITIONS_MIN || self.most == 0 || known {
            return engine.remove(seq);
        }
        let window = has_window(engine);
        let replaced =
            |entry: &Entry| if window { entry.tokens == tokens } else { tokens.starts_with(&entry.tokens) };
        while let Some(index) = self.entries.iter().position(replaced) {
            engine.remove(self.entries.swap_remove(index).seq)?;
        }
        while self.entries.len() >= self.most {
            self.forget_oldest(engine)?;
        }
        self.clock += 1;
        self.entries.push(Entry { seq, tokens, used: self.clock });
        Ok(())
    }

    /// Gives back the pages of what was not used for the longest time; false if there is nothing.
    pub fn forget_oldest(&mut self, engine: &mut Engine) -> Result<bool, RuntimeError> {
        let oldest = self.entries.iter().enumerate().min_by_key(|(_, entry)| entry.used);
        let Some((index, _)) = oldest else { return Ok(false) };
        engine.remove(self.entries.swap_remove(index).seq)?;
        Ok(true)
    }
}

fn has_window(engine: &Engine) -> bool {
    engine.model().config.window.is_some()
}
