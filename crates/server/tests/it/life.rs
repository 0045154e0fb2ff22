//! Requests begin, wait, end and are given up.

use std::io::Read;
use std::thread;

use serde_json::{Value as Json, json};

use crate::support::{PARALLEL, QUEUE, Running, chat, no_end, raw, send, start};

/// Answers that go on until the context is full.
fn long(running: &Running, stream: bool, answers: usize) -> Json {
    raw("Hello", json!({"max_tokens": 480, "logit_bias": no_end(running), "stream": stream, "n": answers}))
}

#[test]
fn a_client_that_goes_away_frees_its_places() {
    let running = start();
    let stats = || running.server.stats();
    let cancelled = |r: &Running| r.metric("minfer_answers_cancelled_total");
    for is_stream in [true, false] {
        let before = cancelled(&running);
        // Enough that they are not over before this test is.
        let client = send(&running, "/v1/completions", &long(&running, is_stream, 50));
        running.wait_until("the first run", |_| stats().running == PARALLEL && stats().waiting > 0);
        // Others wait, and go away before they begin.
        let waiting = send(&running, "/v1/completions", &long(&running, is_stream, 7));
        running.wait_until("the others wait", |_| stats().waiting > 48);
        drop(waiting);
        running.wait_until("the others are gone", |r| cancelled(r) == before + 7.0);
        assert_eq!(stats().running, PARALLEL);
        drop(client);
        running.wait_until("the places are free", |_| stats().running == 0 && stats().waiting == 0);
        assert!(cancelled(&running) > before + 7.0);
        running.answer("/v1/completions", &raw("Hello", json!({})));
    }
}

#[test]
fn health_is_told_while_a_prompt_is_read() {
    let running = start();
    let body = raw(&"word ".repeat(60), json!({"max_tokens": 100, "logit_bias": no_end(&running)}));
    let mut client = send(&running, "/v1/completions", &body);
    running.wait_until("the request runs", |r| r.server.stats().running == 1);
    assert_eq!(running.get("/health").status, 200);
    let mut first = [0; 12];
    client.read_exact(&mut first).unwrap();
    assert_eq!(&first, b"HTTP/1.1 200");
}

#[test]
fn a_full_queue_refuses_and_says_when_to_come_again() {
    let running = start();
    let stats = || running.server.stats();
    let refused = (0..20).find_map(|_| {
        let first = send(&running, "/v1/completions", &long(&running, false, PARALLEL));
        running.wait_until("the first run", |_| stats().running == PARALLEL);
        let waiting = send(&running, "/v1/completions", &long(&running, false, QUEUE));
        // If the first are over by now, not all of them wait: once more.
        running.wait_until("the others wait", |_| stats().waiting >= QUEUE - PARALLEL);
        let response = running.post("/v1/chat/completions", &chat("Hello", json!({"max_tokens": 1})));
        drop((first, waiting));
        running.wait_until("all are gone", |_| stats().running == 0 && stats().waiting == 0);
        (response.status == 503).then_some(response)
    });
    let response = refused.expect("a queue was full");
    assert!(response.retry_after);
    assert_eq!(response.json()["error"]["code"], "queue_full");
    running.answer("/v1/chat/completions", &chat("Hello", json!({})));
}

#[test]
fn stopping_finishes_what_runs() {
    let running = start();
    let mut client = send(&running, "/v1/completions", &long(&running, true, PARALLEL));
    running.wait_until("the request runs", |r| r.server.stats().running > 0);
    let ended = thread::spawn(move || drop(running));
    let mut text = String::new();
    client.read_to_string(&mut text).unwrap();
    assert!(text.contains("data: [DONE]"), "{text}");
    ended.join().unwrap();
}
