//! Nothing around a token changes a bit of its logits.

use std::sync::Arc;

use minfer::{Fused, Isa, Item, Model, Rows, SeqId, SessionOptions};
use runtime::Engine;

use crate::common::{model, session, session_on, tokens};
use crate::real;

/// What happens to the sequence on its way.
#[derive(Clone, Copy)]
enum Route {
    Plain,
    /// Two other sequences share the batches.
    Beside,
    /// It goes on from another sequence, which goes on as well.
    Forked,
    /// It once had other tokens.
    Truncated,
}

/// One way of computing the same.
struct Way {
    options: SessionOptions,
    threads: usize,
    /// Tokens in a call.
    call: usize,
    route: Route,
}

type Change = fn(&mut Way);

const WAYS: [(&str, Change); 14] = [
    ("again", |_| {}),
    ("batches of 1", |way| way.options.n_ubatch = 1),
    ("batches of 3", |way| way.options.n_ubatch = 3),
    ("batches of 64", |way| way.options.n_ubatch = 64),
    ("token by token", |way| way.call = 1),
    ("one thread", |way| way.threads = 1),
    ("three threads", |way| way.threads = 3),
    ("seven threads", |way| way.threads = 7),
    ("the head in pieces of 7 rows", |way| way.options.head_rows = 7),
    ("nothing fused", |way| way.options.fusions = Fused::NONE),
    ("scalar", |way| way.options.isa = Some(Isa::Scalar)),
    ("beside two others", |way| way.route = Route::Beside),
    ("forked", |way| way.route = Route::Forked),
    ("truncated", |way| way.route = Route::Truncated),
];

impl Way {
    /// All at once, on two threads and the best kernels.
    fn plain() -> Way {
        let options = SessionOptions { n_ctx: 256, n_ubatch: 256, n_seq: 3, ..SessionOptions::default() };
        Way { options, threads: 2, call: usize::MAX, route: Route::Plain }
    }

    /// Logits after every token of the prompt, as bits.
    fn logits(&self, model: &Arc<Model>, prompt: &[u32]) -> Vec<Vec<u32>> {
        let mut session = session_on(self.threads, model, &self.options);
        let engine = session.engine();
        let seq = engine.create();
        let (start, end) = prompt.split_at(prompt.len() / 2 + 1);
        let others = [tokens(90, 2), tokens(50, 3)];
        match self.route {
            Route::Plain => prompt.chunks(self.call).flat_map(|part| append(engine, seq, part)).collect(),
            Route::Beside => {
                let (a, b) = (engine.create(), engine.create());
                append(engine, a, &others[1]);
                let mut rows = append_first(engine, &[(seq, start), (a, &others[0]), (b, &others[1])]);
                rows.extend(append_first(engine, &[(seq, end), (b, &others[0]), (a, &others[1])]));
                rows
            }
            Route::Forked => {
                let mut rows = append(engine, seq, start);
                let fork = engine.fork(seq).unwrap();
                append(engine, seq, &others[0]);
                rows.extend(append(engine, fork, end));
                rows
            }
            Route::Truncated => {
                let mut rows = append(engine, seq, start);
                append(engine, seq, &others[0]);
                engine.truncate(seq, start.len()).unwrap();
                rows.extend(append(engine, seq, end));
                rows
            }
        }
    }
}

fn append(engine: &mut Engine, seq: SeqId, tokens: &[u32]) -> Vec<Vec<u32>> {
    append_first(engine, &[(seq, tokens)])
}

/// Appends tokens to several sequences in one call; the logits of the first, as bits.
fn append_first(engine: &mut Engine, items: &[(SeqId, &[u32])]) -> Vec<Vec<u32>> {
    let items: Vec<Item> =
        items.iter().map(|(seq, tokens)| Item { seq: *seq, tokens, rows: Rows::All }).collect();
    let mut rows = Vec::new();
    let mut sink = |item: usize, _: usize, logits: &[f32]| {
        if item == 0 {
            rows.push(logits.iter().map(|x| x.to_bits()).collect());
        }
    };
    engine.process(&items, &mut sink).unwrap();
    rows
}

fn check(what: &str, model: &Arc<Model>) {
    let prompt = tokens(200, 1);
    let expected = Way::plain().logits(model, &prompt);
    assert_eq!(expected.len(), prompt.len());
    for (name, change) in WAYS {
        let mut way = Way::plain();
        change(&mut way);
        let found = way.logits(model, &prompt);
        assert_eq!(found.len(), prompt.len(), "{what}, {name}");
        let differs = expected.iter().zip(&found).position(|(e, f)| e != f);
        assert_eq!(differs, None, "{what}, {name}: the first token whose logits differ");
    }
}

#[test]
fn small_models_answer_the_same_bits_in_every_way() {
    for (arch, preset, quant) in
        [("llama", "micro", "F32"), ("llama", "tiny", "Q8_0"), ("qwen2", "tiny", "Q8_0")]
    {
        check(&format!("{arch} {preset} {quant}"), &model(arch, preset, quant));
    }
}

#[test]
fn real_model_answers_the_same_bits_in_every_way() {
    let Some(file) = real::smollm2() else { return };
    check("SmolLM2", &Arc::new(Model::from_file(file).unwrap()));
}

#[test]
fn score_is_the_same_for_every_batch_size_and_differs_for_another_prompt() {
    let model = model("qwen2", "micro", "Q8_0");
    let score = |n_ubatch, prompt: &[u32]| {
        let options = SessionOptions { n_ctx: 64, n_ubatch, ..SessionOptions::default() };
        session(&model, &options).score(prompt, 5).unwrap()
    };
    let prompt = tokens(60, 1);
    let expected = score(64, &prompt);
    assert_eq!(expected.top.len(), 5);
    for n_ubatch in [1, 7, 32] {
        assert_eq!(score(n_ubatch, &prompt), expected, "batches of {n_ubatch}");
    }
    assert_ne!(score(64, &prompt[1..]).hash, expected.hash);
}
