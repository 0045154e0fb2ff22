//! What is refused says why, and the next request is answered.

use std::num::NonZeroU32;

use minfer::Model;
use serde_json::{Value as Json, json};
use server::ServerOptions;

use crate::support::{Running, chat, model, raw, start, start_with};

const CHAT: &str = "/v1/chat/completions";
const RAW: &str = "/v1/completions";

fn refused(running: &Running, path: &str, body: &[u8], status: u16, param: Json) -> String {
    let shown = String::from_utf8_lossy(&body[..body.len().min(200)]).into_owned();
    let response = running.post_bytes(path, body);
    assert_eq!(response.status, status, "{shown}: {}", response.text);
    let json = response.json();
    assert_eq!(json["error"]["param"], param, "{shown}: {json}");
    assert!(json["error"]["type"].is_string() && json["error"].get("code").is_some());
    json["error"]["message"].as_str().unwrap().to_owned()
}

#[test]
fn bodies_of_the_wrong_shape_are_refused_with_the_field() {
    let running = start();
    let deep = "[".repeat(100_000);
    for body in ["", "[]", "5", "{:", &deep] {
        refused(&running, CHAT, body.as_bytes(), 400, Json::Null);
    }
    refused(&running, CHAT, b"{\"messages\": \"\xff\"}", 400, Json::Null);
    refused(&running, CHAT, br#"{"messages": "\ud800"}"#, 400, Json::Null);
    let messages = [
        (json!("hi"), "messages"),
        (json!([]), "messages"),
        (json!(["hi"]), "messages[0]"),
        (json!([{"content": "hi"}]), "messages[0].role"),
        (json!([{"role": "user"}]), "messages[0].content"),
        (json!([{"role": "user", "content": null}]), "messages[0].content"),
        (json!([{"role": "user", "content": 5}]), "messages[0].content"),
        (json!([{"role": "user", "content": [{"type": "image_url"}]}]), "messages[0].content[0].type"),
    ];
    for (messages, param) in messages {
        refused(
            &running,
            CHAT,
            chat("", json!({"messages": messages})).to_string().as_bytes(),
            400,
            json!(param),
        );
    }
    let fields = [
        ("stream", json!("false")),
        ("max_tokens", json!(-1)),
        ("max_tokens", json!(1e300)),
        ("n", json!(0)),
        ("temperature", json!("hot")),
        ("temperature", json!(-1)),
        ("top_p", json!(2)),
        ("seed", json!(0.5)),
        ("stop", json!({})),
        ("stop", json!([""])),
        ("top_logprobs", json!(2)),
        ("stream_options", json!({"include_usage": true})),
    ];
    for (field, value) in fields {
        let body = chat("hi", json!({field: value}));
        refused(&running, CHAT, body.to_string().as_bytes(), 400, json!(field));
    }
    refused(
        &running,
        CHAT,
        chat("hi", json!({"logit_bias": {"99999999": 1}})).to_string().as_bytes(),
        400,
        json!("logit_bias.99999999"),
    );
    // `null` is absent, parts are text, an empty list of texts ends nothing.
    let parts =
        json!([{"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}]);
    running.answer(
        CHAT,
        &chat("", json!({"messages": parts, "stop": null, "seed": null, "tools": [], "user": "me"})),
    );
    running.answer(CHAT, &chat("hi", json!({"stop": []})));
}

#[test]
fn prompts_that_cannot_be_answered_are_refused_with_the_numbers() {
    let running = start();
    let long = refused(
        &running,
        RAW,
        raw(&"word ".repeat(700), json!({})).to_string().as_bytes(),
        400,
        json!("prompt"),
    );
    assert!(long.contains("context 512 positions") && long.contains("tokens"), "{long}");
    for prompt in [json!(""), json!([]), json!([[]]), json!(5)] {
        refused(
            &running,
            RAW,
            raw("", json!({"prompt": prompt})).to_string().as_bytes(),
            400,
            json!("prompt"),
        );
    }
    for (prompt, param) in [(json!([-1]), "prompt[0]"), (json!([[1, 4_294_967_296_u64]]), "prompt[0][1]")] {
        let why = refused(
            &running,
            RAW,
            raw("", json!({"prompt": prompt})).to_string().as_bytes(),
            400,
            json!(param),
        );
        assert!(why.contains("-1") || why.contains("4294967296"), "{why}");
    }
    running.answer(RAW, &raw("word", json!({})));
}

#[test]
fn other_models_routes_and_methods_are_not_found() {
    let running = start();
    let other = running.post(CHAT, &chat("hi", json!({"model": "gpt"})));
    assert_eq!((other.status, &other.json()["error"]["code"]), (404, &json!("model_not_found")));
    assert_eq!(running.get("/v1/models/gpt").status, 404);
    assert_eq!(running.get("/nowhere").json()["error"]["message"], "no route /nowhere");
    assert_eq!(running.get(CHAT).status, 405);
    running.answer(CHAT, &chat("hi", json!({"model": "noise.gguf"})));
}

#[test]
fn a_key_is_needed_where_there_are_keys() {
    let running = start_with(
        model(),
        ServerOptions { api_keys: vec!["first".into(), "second".into()], ..ServerOptions::default() },
    );
    assert_eq!(running.get("/health").status, 200);
    let asked = |key: Option<&str>| {
        let request = ureq::get(format!("http://{}/v1/models", running.address));
        let request = match key {
            Some(key) => request.header("Authorization", key),
            None => request,
        };
        let status = request.config().http_status_as_error(false).build().call().unwrap().status();
        status.as_u16()
    };
    assert_eq!(asked(None), 401);
    for wrong in ["Bearer firs", "Bearer firsT", "Bearer first ", "first", "Basic first", "Bearer "] {
        // The space at the end is no part of the header.
        assert_eq!(asked(Some(wrong)), if wrong.ends_with("first ") { 200 } else { 401 }, "{wrong}");
    }
    assert_eq!((asked(Some("Bearer first")), asked(Some("bearer second"))), (200, 200));
    assert_eq!(running.post(CHAT, &chat("hi", json!({}))).status, 401);
}

#[test]
fn who_asks_too_often_is_told_when_to_come_again() {
    let options = ServerOptions { rate_limit: NonZeroU32::new(2), ..ServerOptions::default() };
    let running = start_with(model(), options);
    let body = json!({"content": "a"});
    let statuses: Vec<u16> = (0..4).map(|_| running.post("/tokenize", &body).status).collect();
    assert_eq!(statuses, [200, 200, 429, 429]);
    let response = running.post(CHAT, &chat("hi", json!({})));
    assert!(response.status == 429 && response.retry_after);
    assert_eq!(response.json()["error"]["code"], "rate_limit_exceeded");
    // Looking costs nothing.
    assert_eq!(running.get("/v1/models").status, 200);
}

#[test]
fn a_body_may_be_as_large_as_allowed_and_no_larger() {
    let running = start_with(model(), ServerOptions { body_limit: 4096, ..ServerOptions::default() });
    let body = chat("hi", json!({"user": "x".repeat(4096)}));
    let response = running.post(CHAT, &body);
    assert_eq!(
        (response.status, response.json()["error"]["message"].as_str().unwrap()),
        (413, "the body is larger than 4096 bytes")
    );
    running.answer(CHAT, &chat("hi", json!({})));
}

#[test]
fn a_template_that_refuses_is_heard() {
    let source = "{% for m in messages %}{% if m.role == 'system' %}{{ raise_exception('System role not supported') }}{% endif %}\
        [{{ m.role }}]{{ m.content }}{% endfor %}";
    let model: Model = model().with_chat_template(source).unwrap();
    let running = start_with(model, ServerOptions::default());
    let messages = json!([{"role": "system", "content": "S"}, {"role": "user", "content": "U"}]);
    let body = chat("", json!({"messages": messages})).to_string();
    let why = refused(&running, CHAT, body.as_bytes(), 400, json!("messages"));
    assert!(why.contains("System role not supported"), "{why}");
    let tool = json!([{"type": "function", "function": {"name": "now"}}]);
    refused(&running, CHAT, chat("hi", json!({"tools": tool})).to_string().as_bytes(), 400, json!("tools"));
    running.answer(CHAT, &chat("hi", json!({})));
}
