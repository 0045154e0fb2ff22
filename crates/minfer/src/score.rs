//! How likely a text is: logits, sums of negative log likelihoods, perplexity.

use runtime::{Item, Rows};

use crate::{Error, Session, hash};

/// What the model says of a list of tokens.
#[derive(Clone, Debug, PartialEq)]
pub struct Score {
    /// Sum over all tokens but the first of `-ln p(token | tokens before it)`.
    pub nll_sum: f64,
    /// The best ids after the last token, with their logits.
    pub top: Vec<(u32, f32)>,
    /// A hash of all logits after the last token, bit for bit.
    pub hash: u64,
}

/// Perplexity of a text.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Perplexity {
    /// Tokens that were scored.
    pub tokens: usize,
    /// Sum of their negative log likelihoods.
    pub nll_sum: f64,
}

impl Perplexity {
    /// `exp` of the mean negative log likelihood.
    pub fn value(&self) -> f64 {
        (self.nll_sum / self.tokens as f64).exp()
    }
}

impl Session {
    /// Scores tokens; `top` says how many of the best ids to give.
    pub fn score(&mut self, tokens: &[u32], top: usize) -> Result<Score, Error> {
        self.expect_logits()?;
        if tokens.is_empty() {
            return Err(Error::EmptyPrompt);
        }
        let n_ctx = self.n_ctx();
        if tokens.len() > n_ctx {
            return Err(Error::PromptTooLong { prompt: tokens.len(), n_ctx });
        }
        let seq = self.engine.create();
        let mut score = Score { nll_sum: 0.0, top: Vec::new(), hash: 0 };
        let mut failed = None;
        let items = [Item { seq, tokens, rows: Rows::All }];
        let done = self.engine.process(&items, &mut |_, row, logits| match tokens.get(row + 1) {
            Some(next) => match sample::log_softmax_at(logits, *next) {
                Ok(log) => score.nll_sum -= log,
                Err(error) => failed = failed.or(Some((row, error))),
            },
            None => {
                score.top = sample::top_n(logits, top);
                score.hash = hash::of_floats(logits);
            }
        });
        self.engine.remove(seq)?;
        done?;
        refuse_failed(failed)?;
        Ok(score)
    }

    /// Perplexity over windows of `n_ctx` tokens, as llama.cpp counts: of each window the second half is
    /// scored, the first token of each is BOS where the vocabulary adds one, and a rest is left out.
    /// `progress` gets (windows done, windows, perplexity so far).
    pub fn perplexity(
        &mut self,
        tokens: &[u32],
        n_ctx: usize,
        progress: &mut dyn FnMut(usize, usize, f64),
    ) -> Result<Perplexity, Error> {
        self.expect_logits()?;
        let needed = 2 * n_ctx;
        if tokens.len() < needed || n_ctx < 4 {
            return Err(Error::TextTooShort { tokens: tokens.len(), n_ctx, needed: needed.max(8) });
        }
        let tokenizer = self.model.tokenizer();
        let bos = tokenizer.add_bos().then(|| tokenizer.bos()).flatten();
        let windows = tokens.len() / n_ctx;
        let mut sum = Perplexity { tokens: 0, nll_sum: 0.0 };
        for (done, window) in tokens.chunks_exact(n_ctx).enumerate() {
            let mut window = window.to_vec();
            window[0] = bos.unwrap_or(window[0]);
            self.score_window(&window, n_ctx / 2, &mut sum)?;
            progress(done + 1, windows, sum.value());
        }
        Ok(sum)
    }

    /// Scores the tokens after number `first`, given all before them.
    fn score_window(&mut self, window: &[u32], first: usize, sum: &mut Perplexity) -> Result<(), Error> {
        let seq = self.engine.create();
        let (context, scored) = window.split_at(first);
        let items =
            [Item { seq, tokens: context, rows: Rows::None }, Item { seq, tokens: scored, rows: Rows::All }];
        let mut failed = None;
        let done = self.engine.process(&items, &mut |_, row, logits| {
            let Some(next) = scored.get(row + 1) else { return };
            match sample::log_softmax_at(logits, *next) {
                Ok(log) => sum.nll_sum -= log,
                Err(error) => failed = failed.or(Some((first + row, error))),
            }
            sum.tokens += 1;
        });
        self.engine.remove(seq)?;
        done?;
        refuse_failed(failed)
    }
}

/// The first token that could not be scored, if there is one.
fn refuse_failed(failed: Option<(usize, sample::SampleError)>) -> Result<(), Error> {
    match failed {
        Some((position, error)) => Err(Error::Score { position, error }),
        None => Ok(()),
    }
}
