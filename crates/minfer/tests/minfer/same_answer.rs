//! Nothing around a token changes a bit of its logits.

use std::sync::Arc;

use gguf::GgufFile;
use minfer::{DType, Fused, Isa, Item, Model, Rows, SeqId, SessionOptions};
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
    /// It once had other tokens at its end.
    Truncated,
    /// It once had other tokens altogether.
    Restarted,
}

/// The context and its types, which are part of what is computed.
#[derive(Clone, Copy, Debug)]
struct Cache {
    n_ctx: usize,
    type_k: DType,
    type_v: DType,
}

const F16: Cache = Cache { n_ctx: 256, type_k: DType::F16, type_v: DType::F16 };

/// One way of computing the same.
struct Way {
    options: SessionOptions,
    threads: usize,
    /// Tokens in a call.
    call: usize,
    route: Route,
}

type Change = fn(&mut Way);

/// One change at a time.
const EACH: [(&str, Change); 14] = [
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
    ("beside two others", |way| way.route = Route::Beside),
    ("forked", |way| way.route = Route::Forked),
    ("truncated", |way| way.route = Route::Truncated),
    ("restarted", |way| way.route = Route::Restarted),
];

/// The same changes, several at a time: for many models.
const TOGETHER: [(&str, Change); 5] = [
    ("token by token on one thread", |way| (way.call, way.threads) = (1, 1)),
    ("beside two others in batches of 64, nothing fused", |way| {
        way.route = Route::Beside;
        (way.options.n_ubatch, way.options.fusions) = (64, Fused::NONE);
    }),
    ("forked, in batches of 3 on three threads", |way| {
        way.route = Route::Forked;
        (way.options.n_ubatch, way.threads) = (3, 3);
    }),
    ("truncated, in batches of 1 on seven threads", |way| {
        way.route = Route::Truncated;
        (way.options.n_ubatch, way.threads) = (1, 7);
    }),
    ("restarted, the head in pieces of 7 rows", |way| {
        way.route = Route::Restarted;
        way.options.head_rows = 7;
    }),
];

impl Way {
    /// All at once, on two threads and the best kernels.
    fn plain(cache: Cache) -> Way {
        let Cache { n_ctx, type_k, type_v } = cache;
        let sizes = SessionOptions { n_ctx, n_ubatch: 256, n_seq: 3, ..SessionOptions::default() };
        let options = SessionOptions { type_k, type_v, ..sizes };
        Way { options, threads: 2, call: usize::MAX, route: Route::Plain }
    }

    /// Logits after every token of the prompt, as bits.
    fn logits(&self, model: &Arc<Model>, prompt: &[u32]) -> Vec<Vec<u32>> {
        let mut session = session_on(self.threads, model, &self.options);
        let engine = session.engine();
        let windows = engine.model().config.window.is_some();
        let seq = engine.create();
        // Behind this place a few positions more make no window of 16 or 32 give back a page.
        let (start, end) = prompt.split_at(prompt.len() * 117 / 200);
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
                append(engine, seq, &others[0][..if windows { 8 } else { 90 }]);
                engine.truncate(seq, start.len()).unwrap();
                rows.extend(append(engine, seq, end));
                rows
            }
            Route::Restarted => {
                append(engine, seq, &others[0]);
                engine.truncate(seq, 0).unwrap();
                append(engine, seq, prompt)
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

fn check(what: &str, model: &Arc<Model>, cache: Cache, prompt: &[u32], ways: &[(&str, Change)]) {
    let expected = Way::plain(cache).logits(model, prompt);
    assert_eq!(expected.len(), prompt.len());
    let compare = |name: &str, way: Way| {
        let found = way.logits(model, prompt);
        assert_eq!(found.len(), prompt.len(), "{what}, {name}");
        let differs = expected.iter().zip(&found).position(|(e, f)| e != f);
        assert_eq!(differs, None, "{what}, {name}: the first token whose logits differ");
    };
    for (name, change) in ways {
        let mut way = Way::plain(cache);
        change(&mut way);
        compare(name, way);
    }
    for isa in Isa::ALL.into_iter().filter(|isa| *isa != Isa::detect()) {
        if let Err(reason) = isa.is_available() {
            eprintln!("skipped {isa}: {reason}");
            continue;
        }
        let mut way = Way::plain(cache);
        way.options.isa = Some(isa);
        compare(isa.name(), way);
    }
}

#[test]
fn small_models_answer_the_same_bits_in_every_way() {
    for (arch, preset, quant) in
        [("llama", "micro", "F32"), ("llama", "tiny", "Q8_0"), ("qwen2", "tiny", "Q8_0")]
    {
        check(&format!("{arch} {preset} {quant}"), &model(arch, preset, quant), F16, &tokens(200, 1), &EACH);
    }
}

/// The windows of the small Gemma models are 16 and 32 positions: shorter than the prompt, the batch and a page.
#[test]
fn every_architecture_answers_the_same_bits_in_every_way() {
    let mixed = |type_k, type_v| Cache { type_k, type_v, ..F16 };
    let both = |kv_type| mixed(kv_type, kv_type);
    let (f32, bf16) = (both(DType::F32), both(DType::BF16));
    let (q8, q4) = (both(DType::Q8_0), both(DType::Q4_0));
    let models = [
        ("llama", "micro", "F32", f32),
        ("llama", "tiny", "Q4_K_M", q8),
        ("qwen2", "micro", "F32", bf16),
        ("qwen2", "tiny", "Q4_K_M", mixed(DType::F32, DType::Q8_0)),
        ("qwen3", "micro", "F32", q4),
        ("qwen3", "tiny", "Q4_K_M", mixed(DType::Q8_0, DType::Q4_0)),
        ("qwen3moe", "micro", "F32", F16),
        ("qwen3moe", "tiny", "Q4_K_M", mixed(DType::Q8_0, DType::F16)),
        ("gemma2", "micro", "F32", q8),
        ("gemma2", "tiny", "Q4_K_M", F16),
        ("gemma3", "micro", "F32", mixed(DType::BF16, DType::F32)),
        ("gemma3", "tiny", "Q4_K_M", mixed(DType::Q4_0, DType::F16)),
        ("phi3", "micro", "F32", F16),
        ("phi3", "micro-long", "Q8_0", Cache { n_ctx: 1024, ..F16 }),
        ("phi3", "tiny", "Q4_K_M", f32),
    ];
    for (arch, preset, quant, cache) in models {
        let what = format!("{arch} {preset} {quant} with {cache:?}");
        check(&what, &model(arch, preset, quant), cache, &tokens(200, 1), &TOGETHER);
    }
}

/// Contexts of several ranges of attention: few tokens are cut into ranges, many are not, and little scratch makes
/// rounds of them. Windows begin and end within ranges.
#[test]
fn long_contexts_answer_the_same_bits_in_every_way() {
    let long = |kv_type| Cache { n_ctx: 1024, type_k: kv_type, type_v: kv_type };
    let ways: [(&str, Change); 5] = [
        ("token by token", |way| way.call = 1),
        ("token by token with little scratch", |way| (way.call, way.options.n_ubatch) = (1, 1)),
        ("in batches of 5, nothing fused", |way| {
            (way.options.n_ubatch, way.options.fusions) = (5, Fused::NONE);
        }),
        ("scalar in batches of 2 on three threads", |way| {
            (way.options.isa, way.options.n_ubatch, way.threads) = (Some(Isa::Scalar), 2, 3);
        }),
        ("forked, in batches of 3 on one thread", |way| {
            way.route = Route::Forked;
            (way.options.n_ubatch, way.threads) = (3, 1);
        }),
    ];
    for (arch, cache) in
        [("llama", long(DType::F16)), ("gemma3", long(DType::F16)), ("qwen3", long(DType::Q8_0))]
    {
        check(&format!("{arch} with {cache:?}"), &model(arch, "micro", "F32"), cache, &tokens(800, 1), &ways);
    }
}

/// One layer of each, so that all kinds of blocks are met.
#[test]
fn every_weight_type_answers_the_same_bits_in_every_way() {
    for (i, quant) in synthetic::quants().enumerate() {
        let arch = ["llama", "qwen2"][i % 2];
        let bytes = synthetic::build(arch, "tiny", quant, 1, Some(1)).unwrap();
        let model = Arc::new(Model::from_file(GgufFile::from_bytes(&bytes).unwrap()).unwrap());
        check(&format!("{arch} {quant}"), &model, F16, &tokens(100, 1), &TOGETHER);
    }
}

#[test]
fn real_models_answer_the_same_bits_in_every_way() {
    let open = |file: Option<GgufFile>| Some(Arc::new(Model::from_file(file?).unwrap()));
    if let Some(model) = open(real::smollm2()) {
        check("SmolLM2", &model, F16, &tokens(200, 1), &EACH);
    }
    // Its rows of logits are long: a few of them.
    if let Some(model) = open(real::gemma3()) {
        check("Gemma 3", &model, F16, &tokens(50, 1), &TOGETHER);
    }
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
