//! Embeddings: right numbers, the same ones every time, clear refusals.

use std::fmt::Write;
use std::sync::Arc;

use minfer::{
    EmbedOptions, Embedder, Embedding, Error, Fused, Isa, Model, Normalize, Output, Pooling, RuntimeError,
    Session, SessionOptions, ThreadPool,
};
use serde::Deserialize;
use sha2::{Digest, Sha256};

use crate::common::{model, tokens};

#[derive(Deserialize)]
struct File {
    models: Vec<Entry>,
}

#[derive(Deserialize)]
struct Entry {
    preset: String,
    quant: String,
    sha256: String,
    texts: Vec<Text>,
}

#[derive(Deserialize)]
struct Text {
    tokens: Vec<u32>,
    exact: Stored,
    /// What the other engine gives with the quantized file.
    strict: Option<Stored>,
}

#[derive(Deserialize)]
struct Stored {
    pooling: u32,
    norm: f64,
    embedding: Vec<f32>,
}

fn entries() -> Vec<Entry> {
    let file: File = serde_json::from_str(include_str!("../data/embeddings.json")).unwrap();
    file.models
}

impl Entry {
    /// The encoder, made again and compared with the file that the answers are of.
    fn model(&self) -> Arc<Model> {
        let bytes = synthetic::build("bert", &self.preset, &self.quant, 1, None).unwrap();
        let mut hex = String::new();
        for byte in Sha256::digest(&bytes) {
            write!(hex, "{byte:02x}").unwrap();
        }
        assert_eq!(hex, self.sha256, "{} {}", self.preset, self.quant);
        Arc::new(Model::from_file(gguf::GgufFile::from_bytes(&bytes).unwrap()).unwrap())
    }
}

/// As the stored ones are: raw.
fn raw() -> EmbedOptions {
    EmbedOptions { normalize: Normalize::Off, ..EmbedOptions::default() }
}

fn embedder(threads: usize, model: &Arc<Model>, options: &EmbedOptions) -> Embedder {
    Embedder::new(model.clone(), Arc::new(ThreadPool::new(threads)), options).unwrap()
}

fn worst(found: &[f32], expected: &[f32]) -> f32 {
    assert_eq!(found.len(), expected.len());
    found.iter().zip(expected).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max)
}

/// Embeds all texts of an entry; the worst component of each.
fn distances(entry: &Entry, options: &EmbedOptions) -> Vec<f32> {
    let mut embedder = embedder(2, &entry.model(), options);
    let texts: Vec<&[u32]> = entry.texts.iter().map(|text| &text.tokens[..]).collect();
    let found = embedder.embed_tokens(&texts).unwrap();
    let distance = |(embedding, text): (&Embedding, &Text)| {
        // The file says how rows become one.
        let stored = [Pooling::Mean, Pooling::Cls][text.exact.pooling as usize - 1];
        assert_eq!(embedder.pooling(), stored);
        assert_eq!(embedding.tokens, text.tokens.len());
        let norm = embedding.values.iter().map(|x| f64::from(x * x)).sum::<f64>().sqrt();
        assert!((norm - text.exact.norm).abs() < 0.1, "{norm}");
        worst(&embedding.values, &text.exact.embedding)
    };
    found.iter().zip(&entry.texts).map(distance).collect()
}

/// The other engine's GELU goes through a table of f16: 0.0009.
#[test]
fn f32_encoders_and_reference_runs_agree_with_an_independent_engine() {
    for entry in entries() {
        for reference in [false, true] {
            if !reference && entry.quant != "F32" {
                continue;
            }
            let session = SessionOptions { reference, ..raw().session };
            let distances = distances(&entry, &EmbedOptions { session, ..raw() });
            println!("{} {}, reference {reference}: {distances:?}", entry.preset, entry.quant);
            assert!(distances.iter().all(|d| *d <= 0.002), "{} {}: {distances:?}", entry.preset, entry.quant);
        }
    }
}

#[test]
fn quantized_encoders_stray_no_further_than_an_independent_engine() {
    for entry in entries().iter().filter(|entry| entry.quant != "F32") {
        let distances = distances(entry, &raw());
        let strict = |text: &Text| worst(&text.strict.as_ref().unwrap().embedding, &text.exact.embedding);
        let theirs: Vec<f32> = entry.texts.iter().map(strict).collect();
        println!("{} {}: {distances:?}, the other engine {theirs:?}", entry.preset, entry.quant);
        assert!(distances.iter().all(|d| *d <= 0.06), "{} {}: {distances:?}", entry.preset, entry.quant);
    }
}

/// Texts of several lengths, over pages and ranges of positions.
fn texts() -> Vec<Vec<u32>> {
    [7, 270, 1, 33, 64, 2].into_iter().enumerate().map(|(i, n)| tokens(n, i as u32)).collect()
}

const MODELS: [(&str, &str, &str); 4] = [
    ("bert", "tiny", "Q4_K_M"),
    ("bert", "micro", "F32"),
    ("qwen3", "micro", "Q8_0"),
    ("gemma3", "micro", "Q8_0"),
];

fn small(n_seq: usize, n_ubatch: usize) -> SessionOptions {
    SessionOptions { n_ctx: 512, n_seq, n_ubatch, ..SessionOptions::default() }
}

#[test]
fn a_text_has_the_same_embedding_alone_and_beside_others_on_every_tier_and_any_threads() {
    for (arch, preset, quant) in MODELS {
        let model = model(arch, preset, quant);
        for pooling in [Pooling::Mean, Pooling::Cls, Pooling::Last] {
            let options =
                |session| EmbedOptions { pooling: Some(pooling), session, ..EmbedOptions::default() };
            let texts = texts();
            let mut alone = embedder(1, &model, &options(small(1, 512)));
            let expected: Vec<Embedding> =
                texts.iter().flat_map(|text| alone.embed_tokens(&[text]).unwrap()).collect();
            let what = format!("{arch} {quant} {}", pooling.name());
            let scalar = SessionOptions { isa: Some(Isa::Scalar), ..small(4, 512) };
            let unfused = SessionOptions { fusions: Fused::NONE, ..small(3, 64) };
            let all = [(2, small(4, 100)), (3, small(6, 2048)), (2, unfused), (2, scalar)];
            // What becomes of rows is the same code for all: one other cut of them is enough.
            let few = if pooling == Pooling::Mean { all.len() } else { 1 };
            for (threads, session) in all.into_iter().take(few) {
                let found = embedder(threads, &model, &options(session)).embed_tokens(&texts).unwrap();
                assert!(found == expected, "{what}: {threads} threads, {session:?}");
            }
        }
    }
}

#[test]
fn every_token_of_an_encoder_sees_the_last_one_and_none_of_a_decoder_does() {
    for (arch, sees) in [("bert", true), ("qwen3", false)] {
        let options = EmbedOptions { pooling: Some(Pooling::Cls), session: small(1, 64), ..raw() };
        let mut embedder = embedder(2, &model(arch, "micro", "F32"), &options);
        let found = embedder.embed_tokens(&[[2, 70, 80, 3], [2, 70, 80, 90]]).unwrap();
        assert_eq!(found[0] != found[1], sees, "{arch}");
    }
}

/// Beside all other tests: the rows are those that logits are made of.
#[test]
fn rows_of_a_decoder_are_those_that_its_logits_come_from() {
    let model = model("llama", "micro", "F32");
    let text = tokens(40, 5);
    let options = EmbedOptions { pooling: Some(Pooling::Last), session: small(1, 16), ..raw() };
    let row = embedder(2, &model, &options).embed_tokens(&[&text]).unwrap().remove(0).values;
    let bytes = synthetic::build("llama", "micro", "F32", 1, None).unwrap();
    let file = gguf::GgufFile::from_bytes(&bytes).unwrap();
    let output = file.data(file.tensor("output.weight").unwrap());
    let weights: Vec<f32> =
        output.chunks_exact(4).map(|b| f32::from_le_bytes(b.try_into().unwrap())).collect();
    let expected: Vec<f32> =
        weights.chunks(row.len()).map(|w| w.iter().zip(&row).map(|(w, x)| w * x).sum()).collect();
    let mut session = crate::common::session(&model, &small(1, 16));
    let logits = crate::common::answer(&mut session, &text, 1).logits;
    assert!(worst(&logits, &expected) < 1e-4);
}

#[test]
fn dimensions_are_cut_before_lengths_are_taken() {
    let model = model("bert", "micro", "F32");
    let text = [tokens(20, 1)];
    let whole = embedder(1, &model, &raw()).embed_tokens(&text).unwrap().remove(0).values;
    let options =
        EmbedOptions { dimensions: Some(8), normalize: Normalize::Euclidean, ..EmbedOptions::default() };
    let cut = embedder(1, &model, &options).embed_tokens(&text).unwrap().remove(0).values;
    let length = whole[..8].iter().map(|x| f64::from(*x) * f64::from(*x)).sum::<f64>().sqrt();
    let expected: Vec<f32> = whole[..8].iter().map(|x| (f64::from(*x) / length) as f32).collect();
    assert_eq!(cut, expected);
}

#[test]
fn texts_are_tokens_with_the_ones_around_them_and_nothing_of_them_is_markup() {
    let model = model("bert", "micro", "F32");
    let mut embedder = embedder(1, &model, &EmbedOptions::default());
    let found = embedder.embed(&["the in", "", "[CLS]"]).unwrap();
    assert_eq!(found.iter().map(|e| e.tokens).collect::<Vec<_>>(), [4, 2, 7]);
    let the_in = model.tokenize("the in", true).unwrap();
    assert_eq!(found[0], embedder.embed_tokens(&[the_in]).unwrap()[0]);
    for embedding in &found {
        let length: f32 = embedding.values.iter().map(|x| x * x).sum();
        assert!((length - 1.0).abs() < 1e-5);
    }
}

#[test]
fn an_encoder_takes_a_text_as_long_as_its_context_whatever_the_batch() {
    let model = model("bert", "micro", "F32");
    let session = SessionOptions { n_ubatch: 32, n_ctx: 4096, ..SessionOptions::default() };
    let mut embedder = embedder(2, &model, &EmbedOptions { session, ..EmbedOptions::default() });
    assert_eq!(embedder.session().n_ctx(), 512);
    assert_eq!(embedder.embed_tokens(&[tokens(512, 3)]).unwrap()[0].tokens, 512);
    let error = embedder.embed_tokens(&[tokens(4, 3), tokens(513, 3)]).unwrap_err().to_string();
    assert_eq!(error, "text 1 has 513 tokens, the context 512 positions");
}

#[test]
fn what_makes_no_embeddings_is_refused() {
    let bert = model("bert", "micro", "F32");
    let pool = || Arc::new(ThreadPool::new(1));
    let embed = |options: EmbedOptions| Embedder::new(bert.clone(), pool(), &options).err().unwrap();
    let error = embed(EmbedOptions { dimensions: Some(65), ..EmbedOptions::default() }).to_string();
    assert_eq!(error, "65 dimensions: the model's embeddings have 64, expected 1 to 64");
    assert!(matches!(
        embed(EmbedOptions { dimensions: Some(0), ..EmbedOptions::default() }),
        Error::Dimensions { .. }
    ));
    let rank = EmbedOptions { pooling: Some(Pooling::Rank), ..EmbedOptions::default() };
    assert!(matches!(embed(rank), Error::Rank));
    let mut embedder = embedder(1, &model("qwen2", "micro", "F32"), &EmbedOptions::default());
    assert!(matches!(embedder.embed(&["a", ""]), Err(Error::EmptyText { index: 1 })));
    assert_eq!(embedder.embed(&[""; 0]).unwrap(), []);
}

#[test]
fn an_encoder_generates_no_text_and_says_what_to_use() {
    let bert = model("bert", "micro", "F32");
    let pool = Arc::new(ThreadPool::new(1));
    let error = Session::new(bert, pool.clone(), &SessionOptions::default()).err().unwrap();
    assert!(error.to_string().contains("minfer embed"), "{error}");
    // Nor does a session that gives hidden rows.
    let options = SessionOptions { output: Output::Hidden, ..SessionOptions::default() };
    let mut session = Session::new(model("qwen2", "micro", "F32"), pool, &options).unwrap();
    assert!(matches!(session.score(&[1, 2, 3], 1), Err(Error::HiddenOnly)));
}

#[test]
fn an_encoder_continues_no_text() {
    use minfer::{Item, Rows};
    let bert = model("bert", "micro", "F32");
    let options = EmbedOptions::default().session_options(&bert).unwrap();
    let mut session = Session::new(bert, Arc::new(ThreadPool::new(1)), &options).unwrap();
    let engine = session.engine();
    let seq = engine.create();
    let item = Item { seq, tokens: &[2, 3], rows: Rows::First };
    engine.process(&[item], &mut |_, _, _| {}).unwrap();
    let error = engine.process(&[item], &mut |_, _, _| {}).unwrap_err();
    assert!(matches!(error, RuntimeError::Continued { len: 2, .. }), "{error}");
    assert_eq!(engine.len(seq).unwrap(), 2);
}

#[test]
fn memory_of_an_encoder_is_planned_proven_and_as_it_happens() {
    for (arch, preset, quant) in MODELS {
        let model = model(arch, preset, quant);
        let options = EmbedOptions { session: SessionOptions { n_ctx: 512, ..raw().session }, ..raw() };
        let session = options.session_options(&model).unwrap();
        model.check_plan(&session, 2).unwrap();
        let plan = model.plan(&session, 2, None).unwrap();
        let mut plain = embedder(2, &model, &options);
        assert_eq!(plain.session().memory().arena_bytes, plan.arena_bytes());
        assert_eq!(plain.session().memory().kv_bytes_reserved, plan.kv_reserved);
        let checked = SessionOptions { verify_memory: true, ..options.session };
        let mut checked = embedder(2, &model, &EmbedOptions { session: checked, ..options });
        assert!(checked.session().verified().is_some());
        let texts = texts();
        assert_eq!(plain.embed_tokens(&texts).unwrap(), checked.embed_tokens(&texts).unwrap());
        // Nothing is kept of a text.
        assert_eq!(plain.session().memory().kv_bytes_committed, 0);
    }
}

/// All layers use the same cache, one after the other, and keys and values are F32.
#[test]
fn the_cache_of_an_encoder_is_that_of_one_layer() {
    let bert = model("bert", "tiny", "Q8_0");
    let session = EmbedOptions::default().session_options(&bert).unwrap();
    let plan = bert.plan(&session, 1, None).unwrap();
    assert_eq!(plan.kv_per_token, 2 * 256 * 4);
    assert_eq!((plan.settings.n_ctx, plan.settings.n_ubatch), (512, 512));
}
