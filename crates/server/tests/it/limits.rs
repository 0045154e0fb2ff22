//! Nobody holds the server for longer than it allows.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::{Value as Json, json};
use server::ServerOptions;

use crate::support::{Running, chat, model, no_end, raw, start_with};

const RAW: &str = "/v1/completions";

/// All that comes back for these bytes, without an end of the request.
fn told(running: &Running, sent: &str) -> String {
    let mut stream = TcpStream::connect(running.address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    stream.write_all(sent.as_bytes()).unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    text
}

#[test]
fn heads_and_bodies_that_do_not_come_are_not_waited_for() {
    let options = ServerOptions {
        head_time: Duration::from_millis(500),
        body_time: Duration::from_millis(50),
        api_keys: vec!["key".into()],
        ..ServerOptions::default()
    };
    let running = start_with(model(), options);
    for head in ["", "POST /v1/chat/completions HTTP/1.1\r\nHost"] {
        assert_eq!(told(&running, head), "");
    }
    let head = "POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n";
    let late = told(&running, &format!("{head}Authorization: Bearer key\r\n\r\n{{\"mess"));
    let (status, body) = late.split_once("\r\n\r\n").unwrap();
    assert!(status.starts_with("HTTP/1.1 408"), "{late}");
    let error = &serde_json::from_str::<Json>(body).unwrap()["error"];
    assert_eq!(error["code"], "body_timeout");
    assert!(error["message"].as_str().unwrap().contains("50ms"));
    // Who has no key is not waited for at all.
    let stranger = told(&running, &format!("{head}\r\n"));
    assert!(stranger.starts_with("HTTP/1.1 401"), "{stranger}");
    assert_eq!(running.get("/health").status, 200);
}

#[test]
fn a_response_that_takes_too_long_ends_with_the_limit() {
    let time = Some(Duration::from_millis(300));
    let running = start_with(model(), ServerOptions { time, ..ServerOptions::default() });
    let long = json!({"max_tokens": 480, "logit_bias": no_end(&running), "n": 60});
    let whole = running.post(RAW, &raw("a", long.clone()));
    assert_eq!((whole.status, &whole.json()["error"]["code"]), (504, &json!("timeout")), "{}", whole.text);
    assert!(whole.text.contains("300ms"));
    let is_free = |r: &Running| r.server.stats().running + r.server.stats().waiting == 0;
    running.wait_until("the places are free", is_free);
    let mut streamed = long;
    streamed["stream"] = json!(true);
    let stream = running.post("/v1/chat/completions", &chat("a", streamed));
    assert_eq!(stream.status, 200);
    let last = stream.text.trim_end().rsplit("\n\n").next().unwrap().strip_prefix("data: ").unwrap();
    assert_eq!(serde_json::from_str::<Json>(last).unwrap()["error"]["code"], "timeout");
    running.wait_until("the places are free", is_free);
    let short = raw("a", json!({"max_tokens": 1}));
    running.wait_until("others are answered", |r| r.post(RAW, &short).status == 200);
}
