//! The plan of memory against what happens, before the first answer and during all of them.

use runtime::{Engine, Item, Params, Rows, Verify};

use crate::Error;

/// Tokens of the batch that is run with each check.
const TOKENS: usize = 64;

/// What was found out when a session was made with [`crate::SessionOptions::verify_memory`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verified {
    /// Tokens that gave the same logits, bit for bit, without checks, with guards and with poison.
    pub tokens: usize,
    /// Calls of the body and the head.
    pub calls: usize,
    /// Windows whose memory is poisoned before and after, and that had guards on both sides.
    pub windows: usize,
}

/// Runs a batch and a token after it (of an encoder a text at once) without checks, with guards and with poison. The engine goes on with poison: every
/// answer is computed on memory that holds nothing but what the plan says.
pub(crate) fn verify(engine: &mut Engine) -> Result<Verified, Error> {
    let plain = Params { verify: Verify::Off, ..*engine.params() };
    let n_vocab = engine.model().config.n_vocab;
    let width = engine.model().row_width(plain.output);
    let count = TOKENS.min(plain.n_ubatch + 1).min(plain.body.n_ctx);
    // Any token will do; these are spread over the vocabulary.
    let tokens: Vec<u32> = (0..count).map(|i| ((i * 37 + 10) % n_vocab) as u32).collect();
    engine.rebuild(plain)?;
    let expected = rows(engine, &tokens)?;
    for (verify, what) in [(Verify::Guards, "guards around every value"), (Verify::Poison, "poison")] {
        engine.rebuild(Params { verify, ..plain })?;
        let found = rows(engine, &tokens)?;
        let differs = expected.iter().zip(&found).position(|(e, f)| e.to_bits() != f.to_bits());
        if let Some(at) = differs {
            let (expected, found) = (expected[at], found[at]);
            return Err(Error::Memory { what, token: at % width, expected, found });
        }
    }
    let programs = [engine.body(), engine.head()];
    let windows = |p: &compile::Program| p.lives.as_ref().map_or(0, |lives| lives.storages.len());
    Ok(Verified {
        tokens: count,
        calls: programs.iter().map(|p| p.calls().count()).sum(),
        windows: programs.iter().map(|p| windows(p)).sum(),
    })
}

/// The rows after the last token but one, and after the last.
fn rows(engine: &mut Engine, tokens: &[u32]) -> Result<Vec<f32>, Error> {
    let seq = engine.create();
    let whole = engine.model().config.arch.encoder;
    let (batch, last) = tokens.split_at(if whole { 0 } else { tokens.len() - 1 });
    let items: Vec<Item> = [batch, last]
        .into_iter()
        .filter(|t| !t.is_empty())
        .map(|tokens| Item { seq, tokens, rows: Rows::Last })
        .collect();
    let mut all = Vec::new();
    let done = engine.process(&items, &mut |_, _, logits| all.extend_from_slice(logits));
    engine.remove(seq)?;
    done?;
    Ok(all)
}
