//! Which tokens may come next.

use llguidance::toktrie::SimpleVob;

/// A bit for each token of the vocabulary.
#[derive(Clone, Debug)]
pub struct Mask {
    /// May have room for more than the vocabulary.
    bits: SimpleVob,
    n_tokens: usize,
}

impl Mask {
    pub(crate) fn new(bits: SimpleVob, n_tokens: usize) -> Mask {
        Mask { bits, n_tokens }
    }

    /// Whether a token may come next; false for ids beyond the vocabulary.
    pub fn allows(&self, token: u32) -> bool {
        (token as usize) < self.n_tokens && self.bits.is_allowed(token)
    }

    /// How many tokens may come next.
    pub fn count(&self) -> usize {
        self.bits.num_set()
    }

    /// The tokens that may come next, in order.
    pub fn iter(&self) -> impl Iterator<Item = u32> {
        self.bits.iter()
    }

    /// The bits: token `id` is bit `id % 32` of word `id / 32`. Bits beyond the vocabulary are 0.
    pub fn words(&self) -> &[u32] {
        &self.bits.as_slice()[..self.n_tokens.div_ceil(32)]
    }

    /// Sets the logits of tokens that may not come next to minus infinity, those beyond the vocabulary too.
    pub fn apply(&self, logits: &mut [f32]) {
        let (within, beyond) = logits.split_at_mut(self.n_tokens.min(logits.len()));
        for (logits, word) in within.chunks_mut(32).zip(self.words()) {
            if *word == u32::MAX {
                continue;
            }
            for (bit, logit) in logits.iter_mut().enumerate() {
                if word >> bit & 1 == 0 {
                    *logit = f32::NEG_INFINITY;
                }
            }
        }
        beyond.fill(f32::NEG_INFINITY);
    }
}
