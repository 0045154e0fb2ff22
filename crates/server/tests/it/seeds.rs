//! A seed gives one answer, whatever runs beside it and however the work is cut.

use std::sync::Arc;
use std::thread;

use minfer::{Engine, EngineOptions, SessionOptions};
use serde_json::{Value as Json, json};
use server::{Server, ServerOptions};

use crate::support::{Running, model, no_end, raw, run, send};

const RAW: &str = "/v1/completions";

fn start(threads: usize, n_ubatch: usize) -> Running {
    let session = SessionOptions { n_ctx: 1000, n_seq: 5, n_kept: 4, n_ubatch, ..SessionOptions::default() };
    let engine = EngineOptions { session, chunk: n_ubatch.min(64), queue: 64, threads: Some(threads) };
    let engine = Engine::new(Arc::new(model()), &engine).unwrap();
    run(Server::new(
        engine,
        ServerOptions { names: vec!["noise".into()], parallel: 5, ..ServerOptions::default() },
    ))
}

#[test]
fn an_answer_is_that_of_its_seed_alone_in_company_cold_and_cached_on_any_threads_and_batches() {
    let mut expected: Vec<Option<Json>> = vec![None, None];
    for (threads, n_ubatch) in [(1, 512), (2, 7), (3, 1), (2, 512), (3, 7)] {
        let running = start(threads, n_ubatch);
        for (index, temperature) in [0.0, 0.8].into_iter().enumerate() {
            let options = json!({"seed": 42, "temperature": temperature, "max_tokens": 64, "logprobs": 2, "logit_bias": no_end(&running)});
            let body = raw("It was a long way to the river, and", options);
            let what = format!("{threads} threads, batches of {n_ubatch}, temperature {temperature}");
            let ask = || {
                let answer = running.answer(RAW, &body);
                assert_eq!(answer["seed"], 42);
                answer["choices"][0].clone()
            };
            let expected = expected[index].get_or_insert_with(ask).clone();
            assert_eq!(ask(), expected, "alone or cached, {what}");
            let together: Vec<Json> = thread::scope(|scope| {
                let threads: Vec<_> = (0..4).map(|_| scope.spawn(ask)).collect();
                threads.into_iter().map(|thread| thread.join().unwrap()).collect()
            });
            assert!(together.iter().all(|answer| *answer == expected), "four at once, {what}");
            // A long prompt and other seeds beside it.
            let long = raw(&"another river ".repeat(60), json!({"max_tokens": 2, "n": 2, "temperature": 1}));
            let beside = send(&running, RAW, &long);
            assert_eq!(ask(), expected, "beside a long prompt, {what}");
            drop(beside);
            running.server.engine().unwrap().forget_kept().unwrap();
            assert_eq!(ask(), expected, "cold, after others, {what}");
        }
    }
    assert_ne!(expected[0], expected[1]);
}
