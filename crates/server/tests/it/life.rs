//! Requests begin, wait, end and are given up.

use std::io::Read;
use std::thread;

use serde_json::{Value as Json, json};

use server::ServerOptions;

use crate::support::{PARALLEL, QUEUE, Running, chat, model, no_end, raw, send, start, start_sized};

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

/// One place. The first streams and goes away in the middle, the second goes away while it waits, the third is answered,
/// the fourth goes away while its prompt is read. Nothing if one of them was over before it could.
fn four_clients(running: &Running, stream: bool, third: &Json, expected: &Json) -> Option<()> {
    let stats = || running.server.stats();
    let cancelled = |r: &Running| r.metric("minfer_answers_cancelled_total");
    let before = cancelled(running);
    let reached = |what: &str, holds: &dyn Fn() -> bool| {
        running.wait_until(what, |_| holds() || stats().running + stats().waiting == 0);
        holds().then_some(())
    };
    let body = |prompt: &str, stream: bool| {
        let more = json!({"max_tokens": 600, "logit_bias": no_end(running), "stream": stream});
        raw(prompt, more)
    };
    let mut first = send(running, "/v1/completions", &body("Hello", true));
    first.read_exact(&mut [0; 1000]).unwrap();
    let second = send(running, "/v1/completions", &body("Hello", stream));
    reached("the second waits", &|| stats().waiting == 1)?;
    drop(second);
    reached("the second is gone", &|| stats().waiting == 0)?;
    running.wait_until("the second is counted", |r| cancelled(r) == before + 1.0);
    // The first was not disturbed: more of it comes.
    first.read_exact(&mut [0; 4000]).unwrap();
    thread::scope(|scope| {
        let last = scope.spawn(|| running.answer("/v1/completions", third)["choices"].take());
        let waits = reached("the third waits", &|| stats().waiting == 1);
        drop(first);
        assert_eq!(last.join().unwrap(), *expected);
        waits
    })?;
    running.wait_until("the first is over", |_| stats().running == 0);
    (cancelled(running) == before + 2.0).then_some(())?;
    let long = "some words that take long to be read ".repeat(12);
    let begun = |r: &Running| r.metric("minfer_queue_seconds_count");
    let before_fourth = begun(running);
    let fourth = send(running, "/v1/completions", &body(&long, stream));
    running.wait_until("the fourth begins", |r| begun(r) > before_fourth);
    drop(fourth);
    running.wait_until("the place is free", |_| stats().running == 0 && stats().waiting == 0);
    assert_eq!(running.answer("/v1/completions", third)["choices"], *expected);
    (cancelled(running) == before + 3.0).then_some(())
}

#[test]
fn clients_that_leave_in_line_in_the_middle_and_in_their_prompt_disturb_nobody() {
    let running = start_sized(model(), ServerOptions::default(), 1, 1000);
    let options = json!({"max_tokens": 40, "logit_bias": no_end(&running), "seed": 3, "temperature": 1});
    let third = raw("Hello", options);
    let expected = running.answer("/v1/completions", &third)["choices"].take();
    for stream in [true, false] {
        let found = (0..20).find_map(|_| {
            let found = four_clients(&running, stream, &third, &expected);
            let stats = || running.server.stats();
            running.wait_until("all are gone", |_| stats().running == 0 && stats().waiting == 0);
            found
        });
        found.expect("three that were cancelled");
    }
}

#[test]
fn a_long_prompt_stops_neither_another_stream_nor_what_the_server_tells_of_itself() {
    let running = start_sized(model(), ServerOptions::default(), 2, 1000);
    let options = json!({"max_tokens": 900, "logit_bias": no_end(&running), "stream": true});
    let mut short = send(&running, "/v1/completions", &raw("Hello", options.clone()));
    short.read_exact(&mut [0; 2000]).unwrap();
    let prompt = "some words that take long to be read ".repeat(24);
    let mut long = send(&running, "/v1/completions", &raw(&prompt, options));
    // The head comes before the prompt is read.
    let mut head = [0; 12];
    long.read_exact(&mut head).unwrap();
    assert_eq!(&head, b"HTTP/1.1 200");
    for _ in 0..20 {
        assert_eq!(running.get("/health").status, 200);
        assert!(running.metric("minfer_tokens_computed_total") > 0.0);
        short.read_exact(&mut [0; 200]).unwrap();
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
