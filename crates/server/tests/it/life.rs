//! Requests begin, wait, end and are given up.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::thread;

use serde_json::{Value as Json, json};

use crate::support::{PARALLEL, Running, chat, no_end, raw, start};

/// Sends a request and does not read the response.
fn send(running: &Running, path: &str, body: &Json) -> TcpStream {
    let body = body.to_string();
    let mut stream = TcpStream::connect(running.address).unwrap();
    let head = format!("POST {path} HTTP/1.1\r\nHost: x\r\nContent-Length: {}\r\n\r\n", body.len());
    stream.write_all((head + &body).as_bytes()).unwrap();
    stream
}

/// An answer that goes on until the context is full.
fn long(running: &Running, stream: bool) -> Json {
    raw("Hello", json!({"max_tokens": 480, "logit_bias": no_end(running), "stream": stream, "n": PARALLEL}))
}

#[test]
fn a_client_that_goes_away_frees_its_places() {
    let running = start();
    for is_stream in [true, false] {
        let before = running.metric("minfer_answers_cancelled_total");
        let client = send(&running, "/v1/completions", &long(&running, is_stream));
        running.wait_until("the request runs", |r| r.server.engine().stats().running == PARALLEL);
        // Another waits, and goes away before it begins.
        let waiting = send(&running, "/v1/completions", &long(&running, is_stream));
        running.wait_until("the other waits", |r| r.server.engine().stats().waiting > 0);
        drop(waiting);
        running
            .wait_until("the other is gone", |r| r.metric("minfer_answers_cancelled_total") == before + 2.0);
        assert_eq!(running.server.engine().stats().running, PARALLEL);
        drop(client);
        running.wait_until("the places are free", |r| r.server.engine().stats().running == 0);
        assert_eq!(running.metric("minfer_answers_cancelled_total"), before + 4.0);
        running.answer("/v1/completions", &raw("Hello", json!({})));
    }
}

#[test]
fn health_is_told_while_a_prompt_is_read() {
    let running = start();
    let body = raw(&"word ".repeat(60), json!({"max_tokens": 100, "logit_bias": no_end(&running)}));
    let mut client = send(&running, "/v1/completions", &body);
    running.wait_until("the request runs", |r| r.server.engine().stats().running == 1);
    assert_eq!(running.get("/health").status, 200);
    let mut first = [0; 12];
    client.read_exact(&mut first).unwrap();
    assert_eq!(&first, b"HTTP/1.1 200");
}

#[test]
fn a_full_queue_refuses_and_says_when_to_come_again() {
    let running = start();
    let mut body = long(&running, false);
    body["n"] = json!(PARALLEL + 4);
    let clients: Vec<_> = (0..2).map(|_| send(&running, "/v1/completions", &body)).collect();
    running.wait_until("the queue is full", |r| r.server.engine().stats().waiting >= 8);
    let response = running.post("/v1/chat/completions", &chat("Hello", json!({})));
    assert_eq!(response.status, 503, "{}", response.text);
    assert!(response.retry_after);
    assert_eq!(response.json()["error"]["code"], "queue_full");
    drop(clients);
    running.wait_until("all are gone", |r| r.server.engine().stats().running == 0);
    running.answer("/v1/chat/completions", &chat("Hello", json!({})));
}

#[test]
fn stopping_finishes_what_runs() {
    let running = start();
    let mut client = send(&running, "/v1/completions", &long(&running, true));
    running.wait_until("the request runs", |r| r.server.engine().stats().running > 0);
    let ended = thread::spawn(move || drop(running));
    let mut text = String::new();
    client.read_to_string(&mut text).unwrap();
    assert!(text.contains("data: [DONE]"), "{text}");
    ended.join().unwrap();
}
