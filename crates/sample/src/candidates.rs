//! The tokens that are still possible.

use crate::select::Cut;
use crate::vectorized::vectorized;
use crate::weights::{CHUNK, map, padded};

/// Tokens left out have the logit minus infinity; when few are left, these are moved together.
///
/// Tokens lie by id at all times, so that the lower place is the lower id.
#[derive(Debug, Clone, Default)]
pub(crate) struct Candidates {
    logits: Vec<f32>,
    /// The token at each place, once they were moved together.
    ids: Vec<u32>,
    is_moved: bool,
}

/// Tokens are moved together when at most one of so many is left.
const SPARSE: usize = 8;

/// Tokens skipped together where none is left.
const GROUP: usize = 16;

impl Candidates {
    /// Starts over with all tokens.
    pub(crate) fn load(&mut self, logits: &[f32]) {
        self.logits.clear();
        self.logits.extend_from_slice(logits);
        self.ids.clear();
        self.ids.reserve(logits.len());
        self.is_moved = false;
    }

    pub(crate) fn logits(&self) -> &[f32] {
        &self.logits
    }

    /// Logits before any token was left out: there the place is the token.
    pub(crate) fn logits_mut(&mut self) -> &mut [f32] {
        assert!(!self.is_moved);
        &mut self.logits
    }

    /// The token at a place.
    pub(crate) fn id(&self, place: usize) -> u32 {
        if self.is_moved { self.ids[place] } else { place as u32 }
    }

    /// The largest logit.
    pub(crate) fn max(&self) -> f32 {
        largest(&self.logits)
    }

    /// Leaves what comes up to the cut in a list sorted by logit.
    pub(crate) fn cut(&mut self, cut: Cut) {
        let (head, tail) = self.logits.split_at_mut(cut.index + 1);
        let kept = leave_from(head, cut.key) + leave_above(tail, cut.key);
        self.tidy(kept);
    }

    /// Leaves what comes up to the cut in a list sorted by `keys`, which has one key a place.
    pub(crate) fn cut_by(&mut self, keys: &[f32], cut: Cut) {
        let (head, tail) = self.logits.split_at_mut(cut.index + 1);
        let (keys_head, keys_tail) = keys.split_at(cut.index + 1);
        let kept = leave_by_from(head, keys_head, cut.key) + leave_by_above(tail, keys_tail, cut.key);
        self.tidy(kept);
    }

    /// Leaves logits of at least `least`.
    pub(crate) fn leave_from(&mut self, least: f32) {
        let kept = leave_from(&mut self.logits, least);
        self.tidy(kept);
    }

    /// Leaves the tokens with keys of at least `least`.
    pub(crate) fn leave_by(&mut self, keys: &[f32], least: f32) {
        let kept = leave_by_from(&mut self.logits, keys, least);
        self.tidy(kept);
    }

    pub(crate) fn remove(&mut self, place: usize) {
        self.logits[place] = f32::NEG_INFINITY;
    }

    /// Moves the `kept` tokens together if they are few.
    fn tidy(&mut self, kept: usize) {
        if kept * SPARSE > self.logits.len() {
            return;
        }
        if !self.is_moved {
            self.ids.clear();
            self.ids.extend(0..self.logits.len() as u32);
            self.is_moved = true;
        }
        let end = move_together(&mut self.logits, &mut self.ids);
        self.logits.truncate(end);
        self.ids.truncate(end);
    }
}

vectorized! {
    fn largest(logits: &[f32]) -> f32 {
        let mut max = [f32::NEG_INFINITY; CHUNK];
        for logits in logits.chunks(CHUNK) {
            for (max, logit) in max.iter_mut().zip(padded(logits)) {
                *max = if logit > *max { logit } else { *max };
            }
        }
        max.into_iter().fold(f32::NEG_INFINITY, f32::max)
    }
}

vectorized! {
    /// Moves logits above minus infinity to the front, and their ids; how many there are.
    fn move_together(logits: &mut [f32], ids: &mut [u32]) -> usize {
        let mut end = 0;
        for start in (0..logits.len()).step_by(GROUP) {
            let stop = logits.len().min(start + GROUP);
            let mut any = false;
            for &logit in &logits[start..stop] {
                any |= logit > f32::NEG_INFINITY;
            }
            if !any {
                continue;
            }
            for place in start..stop {
                // Written in any case, which costs less than a branch that is hard to foresee.
                let logit = logits[place];
                logits[end] = logit;
                ids[end] = ids[place];
                end += usize::from(logit > f32::NEG_INFINITY);
            }
        }
        end
    }
}

vectorized! {
    /// Leaves logits of at least `least`, and counts them.
    fn leave_from(logits: &mut [f32], least: f32) -> usize {
        leave(logits, |logit| logit >= least)
    }
}

vectorized! {
    /// Leaves logits above `least`, and counts them.
    fn leave_above(logits: &mut [f32], least: f32) -> usize {
        leave(logits, |logit| logit > least)
    }
}

vectorized! {
    /// Leaves logits whose keys are at least `least`, and counts them.
    fn leave_by_from(logits: &mut [f32], keys: &[f32], least: f32) -> usize {
        leave_by(logits, keys, |key| key >= least)
    }
}

vectorized! {
    /// Leaves logits whose keys are above `least`, and counts them.
    fn leave_by_above(logits: &mut [f32], keys: &[f32], least: f32) -> usize {
        leave_by(logits, keys, |key| key > least)
    }
}

#[inline(always)]
fn leave(logits: &mut [f32], stays: impl Fn(f32) -> bool) -> usize {
    let mut kept = 0;
    for logits in logits.chunks_mut(CHUNK) {
        let left = map(&padded(logits), |logit| if stays(logit) { logit } else { f32::NEG_INFINITY });
        kept += count(&left);
        logits.copy_from_slice(&left[..logits.len()]);
    }
    kept
}

#[inline(always)]
fn leave_by(logits: &mut [f32], keys: &[f32], stays: impl Fn(f32) -> bool) -> usize {
    let mut kept = 0;
    for (logits, keys) in logits.chunks_mut(CHUNK).zip(keys.chunks(CHUNK)) {
        let mut left = padded(logits);
        for (logit, key) in left.iter_mut().zip(padded(keys)) {
            *logit = if stays(key) { *logit } else { f32::NEG_INFINITY };
        }
        kept += count(&left);
        logits.copy_from_slice(&left[..logits.len()]);
    }
    kept
}

/// How many logits are above minus infinity.
#[inline(always)]
fn count(logits: &[f32; CHUNK]) -> usize {
    let mut count = 0u32;
    for &logit in logits {
        count += u32::from(logit > f32::NEG_INFINITY);
    }
    count as usize
}
