//! Embeddings: those of the library, in both forms of the interface.

use std::sync::Arc;
use std::thread;

use minfer::{EmbedOptions, Embedder, GgufFile, Model, Pooling, SessionOptions, ThreadPool};
use serde_json::{Value as Json, json};
use server::{Server, ServerOptions};

use crate::support::{QUEUE, Running, chat, raw, run, start};

const PATH: &str = "/v1/embeddings";
const TEXTS: [&str; 3] = ["a river", "the sea, and a lake", "a"];

fn model(arch: &str) -> Arc<Model> {
    let bytes = synthetic::build(arch, "micro", "F32", 1, None).unwrap();
    Arc::new(Model::from_file(GgufFile::from_bytes(&bytes).unwrap()).unwrap())
}

fn embedder(model: &Arc<Model>, pooling: Option<Pooling>) -> Embedder {
    let session = SessionOptions { n_ctx: 32, n_seq: 2, ..SessionOptions::default() };
    let options = EmbedOptions { pooling, session, ..EmbedOptions::default() };
    Embedder::new(model.clone(), Arc::new(ThreadPool::new(1)), &options).unwrap()
}

/// With an encoder alone, or with a decoder that writes too.
fn start_with(arch: &str, pooling: Option<Pooling>) -> (Running, Embedder) {
    let model = model(arch);
    let names = ServerOptions { names: vec!["noise".into()], ..ServerOptions::default() };
    let other = embedder(&model, pooling);
    let server = if arch == "bert" {
        Server::with_embeddings_alone(other, QUEUE, names).unwrap()
    } else {
        let session = SessionOptions { n_ctx: 64, ..SessionOptions::default() };
        let options = minfer::EngineOptions { session, threads: Some(1), ..Default::default() };
        let engine = minfer::Engine::new(model.clone(), &options).unwrap();
        Server::new(engine, names).with_embeddings(other, QUEUE).unwrap()
    };
    (run(server), embedder(&model, pooling))
}

/// The vectors of an answer, which has the published form.
fn vectors(answer: &Json) -> Vec<Vec<f32>> {
    assert_eq!((&answer["object"], &answer["model"]), (&json!("list"), &json!("noise")));
    let one = |(index, entry): (usize, &Json)| {
        assert_eq!((&entry["object"], &entry["index"]), (&json!("embedding"), &json!(index)));
        match &entry["embedding"] {
            Json::String(text) => decoded(text),
            list => serde_json::from_value(list.clone()).unwrap(),
        }
    };
    answer["data"].as_array().unwrap().iter().enumerate().map(one).collect()
}

/// Floats in base64.
fn decoded(text: &str) -> Vec<f32> {
    const LETTERS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let digits = text.bytes().filter(|c| *c != b'=').map(|c| LETTERS.iter().position(|l| *l == c).unwrap());
    let bits: Vec<u8> = digits.flat_map(|d| (0..6).rev().map(move |i| (d >> i & 1) as u8)).collect();
    let byte = |bits: &[u8]| bits.iter().fold(0, |byte, bit| byte << 1 | bit);
    let bytes: Vec<u8> = bits.chunks_exact(8).map(byte).collect();
    bytes.chunks_exact(4).map(|four| f32::from_le_bytes(four.try_into().unwrap())).collect()
}

#[test]
fn embeddings_are_those_of_the_library_bit_for_bit_in_their_order() {
    for (arch, pooling) in [("bert", None), ("qwen2", None), ("qwen2", Some(Pooling::Mean))] {
        let (running, mut alone) = start_with(arch, pooling);
        let made = alone.embed(&TEXTS).unwrap();
        let expected: Vec<Vec<f32>> = made.iter().map(|embedding| embedding.values.clone()).collect();
        assert_ne!(expected[0], expected[1]);
        let answer = running.answer(PATH, &json!({"model": "noise", "input": TEXTS, "user": "me"}));
        assert_eq!(vectors(&answer), expected, "{arch}");
        let tokens: usize = made.iter().map(|embedding| embedding.tokens).sum();
        assert_eq!(answer["usage"], json!({"prompt_tokens": tokens, "total_tokens": tokens}));
        let base64 = running.answer(PATH, &json!({"input": TEXTS, "encoding_format": "base64"}));
        assert_eq!(running.metric("minfer_texts_embedded_total"), 6.0);
        assert_eq!(running.metric("minfer_tokens_embedded_total"), 2.0 * tokens as f64);
        assert!(base64["data"][0]["embedding"].is_string());
        assert_eq!(vectors(&base64), expected);
        // One text, its tokens, the tokens of all.
        let ids: Vec<Vec<u32>> = TEXTS.map(|text| running.server.model().tokenize_text(text).unwrap()).into();
        for input in [json!(TEXTS[1]), json!(ids[1]), json!([ids[1]])] {
            assert_eq!(vectors(&running.answer(PATH, &json!({"input": input}))), expected[1..2]);
        }
        assert_eq!(vectors(&running.answer(PATH, &json!({"input": ids}))), expected);
        // More than the thread takes at a time.
        let many: Vec<&str> = TEXTS.iter().cycle().take(50).copied().collect();
        let found = vectors(&running.answer(PATH, &json!({"input": many})));
        assert!(found.iter().zip(expected.iter().cycle()).all(|(a, b)| a == b) && found.len() == 50);
        alone.set_dimensions(Some(5)).unwrap();
        let short = vectors(&running.answer(PATH, &json!({"input": TEXTS[0], "dimensions": 5})));
        assert_eq!(short, [alone.embed(&TEXTS[..1]).unwrap().remove(0).values]);
        assert_eq!(vectors(&running.answer(PATH, &json!({"input": TEXTS[0]}))), expected[..1]);
    }
}

#[test]
fn what_cannot_be_embedded_is_refused_with_the_field() {
    let (running, _) = start_with("bert", None);
    let long = "sea ".repeat(100);
    let bodies = [
        (json!({}), "input"),
        (json!({"input": 5}), "input"),
        (json!({"input": []}), "input"),
        (json!({"input": [[]]}), "input[0]"),
        (json!({"input": ["a", 5]}), "input[1]"),
        (json!({"input": ["a", long]}), "input[1]"),
        (json!({"input": [1, 4_294_967_295_u32]}), "input[1]"),
        (json!({"input": vec!["a"; 2049]}), "input"),
        (json!({"input": "a", "dimensions": 0}), "dimensions"),
        (json!({"input": "a", "dimensions": 100_000}), "dimensions"),
        (json!({"input": "a", "encoding_format": "int8"}), "encoding_format"),
        (json!({"input": "a", "embd_normalize": 1}), "embd_normalize"),
    ];
    for (body, param) in bodies {
        let response = running.post(PATH, &body);
        assert_eq!((response.status, &response.json()["error"]["param"]), (400, &json!(param)), "{param}");
    }
    let too_long = running.post(PATH, &json!({"input": ["a", long]})).json();
    assert_eq!(too_long["error"]["code"], "context_length_exceeded");
    assert!(too_long["error"]["message"].as_str().unwrap().contains("context 32 positions"));
    let unknown = running.post(PATH, &json!({"input": "a", "truncate": true}));
    assert_eq!((unknown.status, unknown.ignored.as_deref()), (200, Some("truncate")));
    assert_eq!(running.post(PATH, &json!({"input": "a", "model": "x"})).status, 404);
}

#[test]
fn a_full_queue_refuses_and_others_are_answered_meanwhile() {
    let model = model("bert");
    // Nothing waits: a request is taken when the thread is free.
    let server = Server::with_embeddings_alone(embedder(&model, None), 0, ServerOptions::default());
    let running = &run(server.unwrap());
    let many = json!({"input": vec![vec![5; 30]; 2048]});
    thread::scope(|scope| {
        let first = scope.spawn(|| {
            loop {
                // The thread may not have begun to listen.
                match running.post(PATH, &many) {
                    response if response.status == 503 => {}
                    response => return response,
                }
            }
        });
        running.wait_until("one is refused", |running| {
            let response = running.post(PATH, &json!({"input": "a"}));
            let is_busy = response.status == 503;
            assert!(!is_busy || response.retry_after && response.json()["error"]["code"] == "queue_full");
            assert_eq!(running.get("/health").status, 200);
            is_busy
        });
        assert_eq!(first.join().unwrap().status, 200);
    });
    running.wait_until("it is free", |running| running.post(PATH, &json!({"input": "a"})).status == 200);
}

#[test]
fn a_model_or_server_that_does_not_do_it_says_so() {
    let (encoder, _) = start_with("bert", None);
    for (path, body) in
        [("/v1/chat/completions", chat("a", json!({}))), ("/v1/completions", raw("a", json!({})))]
    {
        let response = encoder.post(path, &body);
        assert_eq!((response.status, &response.json()["error"]["code"]), (400, &json!("embeddings_only")));
    }
    assert_eq!(encoder.get("/props").json()["embeddings"], encoder_pooling());
    encoder.answer("/tokenize", &json!({"content": "a river"}));
    assert_eq!(encoder.metric("minfer_requests_running"), 0.0);
    let writer = start();
    let response = writer.post(PATH, &json!({"input": "a"}));
    assert_eq!((response.status, &response.json()["error"]["code"]), (400, &json!("embeddings_off")));
    assert!(response.text.contains("--embeddings"));
    let (both, _) = start_with("qwen2", Some(Pooling::Mean));
    both.answer("/v1/completions", &raw("a", json!({})));
    assert_eq!(both.get("/props").json()["embeddings"], "mean");
}

/// As the file says.
fn encoder_pooling() -> Json {
    EmbedOptions::default().pooling(&model("bert")).name().into()
}
