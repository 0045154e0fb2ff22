//! Sequences that are kept for requests that begin alike.

use std::cmp::Reverse;

use runtime::{Engine, RuntimeError, SeqId};

/// The least positions that are worth keeping and looking for.
pub(super) const POSITIONS_MIN: usize = 16;

/// Sequences in no batch, with the tokens of their positions. They share pages with each other and with those that go on.
#[derive(Debug, Default)]
pub(super) struct Kept {
    entries: Vec<Entry>,
    /// Grows with every use.
    clock: u64,
    /// The most entries.
    most: usize,
    /// Whether layers let go of positions, so that a sequence cannot be cut wherever one likes.
    pub window: bool,
}

#[derive(Debug)]
struct Entry {
    seq: SeqId,
    tokens: Vec<u32>,
    used: u64,
}

impl Kept {
    pub fn new(most: usize, window: bool) -> Kept {
        Kept { most, window, ..Kept::default() }
    }

    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether anything is ever kept.
    pub fn keeps(&self) -> bool {
        self.most > 0
    }

    /// A new sequence with as many positions of the prompt, but for its last, as an entry or one of `live` has; and how many.
    pub fn begin(
        &mut self,
        prompt: &[u32],
        live: &[(SeqId, &[u32])],
        engine: &mut Engine,
    ) -> Result<(SeqId, usize), RuntimeError> {
        let found = self.resume(but_last(prompt), live, engine)?;
        Ok(found.unwrap_or_else(|| (engine.create(), 0)))
    }

    /// A new sequence with as many of the tokens, from the first on, as an entry or one of `live` has, and how many; none if they
    /// are too few. Layers with a window may have let go of what a cut needs: then the next best serves.
    pub fn resume(
        &mut self,
        wanted: &[u32],
        live: &[(SeqId, &[u32])],
        engine: &mut Engine,
    ) -> Result<Option<(SeqId, usize)>, RuntimeError> {
        let kept = self.entries.iter().map(|entry| (entry.seq, &entry.tokens[..]));
        let all: Vec<(SeqId, &[u32])> = kept.chain(live.iter().copied()).collect();
        let mut order: Vec<(usize, usize)> =
            all.iter().map(|(_, tokens)| alike(wanted, tokens)).enumerate().collect();
        order.sort_by_key(|(index, common)| (Reverse(*common), all[*index].1.len()));
        for (index, common) in order.into_iter().take_while(|(_, common)| *common >= POSITIONS_MIN) {
            let seq = engine.fork(all[index].0)?;
            match engine.truncate(seq, common) {
                Ok(()) => {
                    self.clock += 1;
                    if let Some(entry) = self.entries.get_mut(index) {
                        entry.used = self.clock;
                    }
                    return Ok(Some((seq, common)));
                }
                Err(RuntimeError::WindowGone { .. }) => engine.remove(seq)?,
                Err(other) => return Err(other),
            }
        }
        Ok(None)
    }

    /// Positions of the prompt that some entry has.
    pub fn has(&self, prompt: &[u32]) -> usize {
        self.entries.iter().map(|entry| common(prompt, &entry.tokens)).max().unwrap_or(0)
    }

    /// Keeps a sequence, or removes it if it is not worth it. One that it continues needs no entry of its own any more,
    /// unless it may be cut where this one cannot.
    pub fn keep(&mut self, seq: SeqId, tokens: Vec<u32>, engine: &mut Engine) -> Result<(), RuntimeError> {
        let known = self.entries.iter().any(|entry| entry.tokens.starts_with(&tokens) && !self.window);
        if tokens.len() < POSITIONS_MIN || self.most == 0 || known {
            return engine.remove(seq);
        }
        let window = self.window;
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

/// Positions that a prompt and a sequence begin with alike, but for the prompt's last, whose logits are wanted.
pub(super) fn common(prompt: &[u32], tokens: &[u32]) -> usize {
    alike(but_last(prompt), tokens)
}

fn but_last(prompt: &[u32]) -> &[u32] {
    &prompt[..prompt.len() - 1]
}

fn alike(a: &[u32], b: &[u32]) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a == b).count()
}
