//! A stream says what the whole answer says, whatever runs beside it.

use std::thread;
use std::time::Duration;

use serde_json::{Value as Json, json};

use server::ServerOptions;

use crate::support::{PARALLEL, Running, chat, model, no_end, raw, send, start, start_with};

/// The text and the tokens of a stream's first choice, and why it ended.
fn joined(events: &[Json], is_chat: bool) -> (String, Vec<Json>, Json) {
    let (mut text, mut tokens, mut reason) = (String::new(), Vec::new(), Json::Null);
    for choice in events.iter().filter_map(|event| event["choices"].get(0)) {
        let piece = if is_chat { &choice["delta"]["content"] } else { &choice["text"] };
        text += piece.as_str().unwrap_or_default();
        let list = if is_chat { "content" } else { "tokens" };
        tokens.extend(choice["logprobs"][list].as_array().into_iter().flatten().cloned());
        if !choice["finish_reason"].is_null() {
            reason = choice["finish_reason"].clone();
        }
    }
    (text, tokens, reason)
}

fn both(running: &Running, seed: u64, is_chat: bool) -> [(String, Vec<Json>, Json); 2] {
    let logprobs = if is_chat { json!(true) } else { json!(0) };
    let more = json!({"seed": seed, "logprobs": logprobs, "stop": ["a"], "max_tokens": 24});
    let (path, body) = match is_chat {
        true => ("/v1/chat/completions", chat("Hello", more)),
        false => ("/v1/completions", raw("Hello", more)),
    };
    let whole = running.answer(path, &body);
    let choice = &whole["choices"][0];
    let text = if is_chat { &choice["message"]["content"] } else { &choice["text"] };
    let tokens = &choice["logprobs"][if is_chat { "content" } else { "tokens" }];
    let whole = (
        text.as_str().unwrap().to_owned(),
        tokens.as_array().unwrap().clone(),
        choice["finish_reason"].clone(),
    );
    let mut streamed = body.clone();
    streamed["stream"] = json!(true);
    [whole, joined(&running.post(path, &streamed).events(), is_chat)]
}

#[test]
fn streams_join_to_the_whole_answer_alone_and_side_by_side() {
    let running = start();
    for is_chat in [true, false] {
        let alone: Vec<_> = (0..4).map(|seed| both(&running, seed, is_chat)).collect();
        for [whole, streamed] in &alone {
            assert_eq!(whole, streamed);
        }
        let beside: Vec<_> = thread::scope(|scope| {
            let running = &running;
            let threads: Vec<_> =
                (0..4).map(|seed| scope.spawn(move || both(running, seed, is_chat))).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert_eq!(alone, beside);
    }
}

#[test]
fn a_stream_begins_with_the_role_and_ends_with_the_usage_if_asked() {
    let running = start();
    let more = json!({"stream": true, "stream_options": {"include_usage": true}, "n": 2, "logit_bias": no_end(&running)});
    let events = running.post("/v1/chat/completions", &chat("Hello", more)).events();
    assert_eq!(events[0]["object"], "chat.completion.chunk");
    for (index, event) in events[..2].iter().enumerate() {
        assert_eq!(event["choices"][0]["index"], index);
        assert_eq!(event["choices"][0]["delta"], json!({"role": "assistant", "content": ""}));
    }
    let (last, before) = events.split_last().unwrap();
    assert_eq!(last["choices"], json!([]));
    assert_eq!(last["usage"]["completion_tokens"], 24);
    assert!(before.iter().all(|event| event["usage"].is_null() && event["id"] == last["id"]));
    let ended = before.iter().filter(|event| event["choices"][0]["finish_reason"] == "length").count();
    assert_eq!(ended, 2);
}

#[test]
fn an_echo_stands_before_the_answer() {
    const PATH: &str = "/v1/completions";
    let running = start();
    // A byte that the model's tokens cut, and spaces that a decoder could lose.
    let prompt = " Caf\u{e9}  ol\u{e9} ";
    let plain = running.answer(PATH, &raw(prompt, json!({"seed": 4, "n": 2})));
    let body = raw(prompt, json!({"seed": 4, "n": 2, "echo": true}));
    let echoed = running.answer(PATH, &body);
    let text = |answer: &Json, index: usize| answer["choices"][index]["text"].as_str().unwrap().to_owned();
    for index in 0..2 {
        assert_eq!(text(&echoed, index), prompt.to_owned() + &text(&plain, index));
    }
    let mut streamed = body.clone();
    streamed["stream"] = json!(true);
    let events = running.post(PATH, &streamed).events();
    let first: Vec<Json> = events.into_iter().filter(|event| event["choices"][0]["index"] == 0).collect();
    assert_eq!(joined(&first, false).0, text(&echoed, 0));
    let ids = running.answer("/tokenize", &json!({"content": prompt, "add_special": true}))["tokens"].take();
    let of_ids = running.answer(PATH, &raw("", json!({"prompt": ids, "echo": true, "max_tokens": 0})));
    assert_eq!((text(&of_ids, 0), &of_ids["usage"]["completion_tokens"]), (prompt.to_owned(), &json!(0)));
    let refused = running.post(PATH, &raw("a", json!({"echo": true, "logprobs": 1}))).json();
    assert_eq!(refused["error"]["param"], "echo");
}

#[test]
fn a_stream_that_is_silent_is_kept_alive_with_comments() {
    let silence = Duration::from_millis(2);
    let running = start_with(model(), ServerOptions { silence, ..ServerOptions::default() });
    let body = chat("Hello", json!({"stream": true, "seed": 1}));
    let expected = start().post("/v1/chat/completions", &body);
    assert!(!expected.text.contains(": keep-alive"), "{}", expected.text);
    // It waits for its turn until others are over.
    let long = raw("a", json!({"max_tokens": 400, "logit_bias": no_end(&running), "n": 4 * PARALLEL}));
    let others = send(&running, "/v1/completions", &long);
    running.wait_until("all places are taken", |r| r.server.stats().waiting > PARALLEL);
    let found = running.post("/v1/chat/completions", &body);
    assert!(found.text.contains("\n\n: keep-alive\n\n: keep-alive\n\n"), "{}", found.text);
    let choices = |events: Vec<Json>| events.into_iter().map(|mut e| e["choices"].take()).collect::<Vec<_>>();
    assert_eq!(choices(found.events()), choices(expected.events()));
    drop(others);
}
