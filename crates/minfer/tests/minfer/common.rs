//! Models, sessions, and what an engine says of a prompt.

use std::sync::Arc;

use gguf::GgufFile;
use minfer::{Item, Model, Rows, Session, SessionOptions, ThreadPool};

/// The bytes of a random model.
pub fn file(arch: &str, preset: &str, quant: &str) -> GgufFile {
    let bytes = synthetic::build(arch, preset, quant, 1, None).unwrap();
    GgufFile::from_bytes(&bytes).unwrap()
}

/// A random model, loaded.
pub fn model(arch: &str, preset: &str, quant: &str) -> Arc<Model> {
    Arc::new(Model::from_file(file(arch, preset, quant)).unwrap())
}

/// A session on two threads.
pub fn session(model: &Arc<Model>, options: &SessionOptions) -> Session {
    session_on(2, model, options)
}

/// A session on so many threads, with room for logits after every token.
pub fn session_on(threads: usize, model: &Arc<Model>, options: &SessionOptions) -> Session {
    let options = SessionOptions { n_outputs: options.n_ubatch, ..*options };
    Session::new(model.clone(), Arc::new(ThreadPool::new(threads)), &options).unwrap()
}

/// What an engine says of a prompt.
pub struct Answer {
    /// Sum over all tokens but the first of `-ln p(token | tokens before it)`.
    pub nll_sum: f64,
    /// All logits after the last token.
    pub logits: Vec<f32>,
    /// The best token, and again after it.
    pub greedy: Vec<u32>,
}

/// Scores a prompt and goes on with the best tokens, whether or not they end the text.
pub fn answer(session: &mut Session, prompt: &[u32], steps: usize) -> Answer {
    let engine = session.engine();
    let seq = engine.create();
    let mut answer = Answer { nll_sum: 0.0, logits: Vec::new(), greedy: Vec::new() };
    let items = [Item { seq, tokens: prompt, rows: Rows::All }];
    let mut sink = |_: usize, row: usize, logits: &[f32]| match prompt.get(row + 1) {
        Some(next) => answer.nll_sum -= sample::log_softmax_at(logits, *next).unwrap(),
        None => answer.logits = logits.to_vec(),
    };
    engine.process(&items, &mut sink).unwrap();
    let mut next = sample::argmax(&answer.logits).unwrap();
    answer.greedy.push(next);
    while answer.greedy.len() < steps {
        let items = [Item { seq, tokens: &[next], rows: Rows::Last }];
        engine.process(&items, &mut |_, _, logits| next = sample::argmax(logits).unwrap()).unwrap();
        answer.greedy.push(next);
    }
    engine.remove(seq).unwrap();
    answer
}

/// For each of the ten best tokens after every token: the logit of the first session minus that of the second.
pub fn rounding(sessions: &mut [Session; 2], tokens: &[u32]) -> Vec<f32> {
    let [quantized, exact] = sessions.each_mut().map(|session| {
        let engine = session.engine();
        let seq = engine.create();
        let mut rows = Vec::new();
        let items = [Item { seq, tokens, rows: Rows::All }];
        engine.process(&items, &mut |_, _, logits| rows.push(logits.to_vec())).unwrap();
        engine.remove(seq).unwrap();
        rows
    });
    let mut differences = Vec::new();
    for (quantized, exact) in quantized.iter().zip(&exact) {
        let best = sample::top_n(exact, 10);
        differences.extend(best.iter().map(|(id, logit)| quantized[*id as usize] - logit));
    }
    differences
}

/// `n` tokens of a vocabulary of 320, another series for each seed.
pub fn tokens(n: usize, seed: u32) -> Vec<u32> {
    let mut state = 0x9e37_79b9 ^ seed.wrapping_mul(0x85eb_ca6b);
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        state % 320
    };
    (0..n).map(|_| next()).collect()
}
