//! Fields of other servers, and fields of nobody.

use serde_json::json;

use crate::support::{chat, raw, start};

const CHAT: &str = "/v1/chat/completions";
const RAW: &str = "/v1/completions";

#[test]
fn fields_that_nobody_knows_are_named_in_a_header_and_change_nothing() {
    let running = start();
    let plain = running.post(CHAT, &chat("hi", json!({"seed": 3})));
    assert_eq!(plain.ignored, None);
    let parts = json!([{"role": "user", "content": [{"type": "text", "text": "hi", "cache_control": {}}]}]);
    let schema = json!({"type": "text", "x": 1});
    let more = json!({"seed": 3, "top_q": 1, "nothing": null, "messages": parts, "response_format": schema});
    let other = running.post(CHAT, &chat("", more));
    let names = "messages[0].content[0].cache_control, response_format.x, top_q";
    assert_eq!(other.ignored.as_deref(), Some(names));
    assert_eq!(plain.json()["choices"], other.json()["choices"]);
    let streamed = json!({"stream": true, "stream_options": {"include_obfuscation": false, "a,\nb": 1}});
    assert_eq!(running.post(RAW, &raw("hi", streamed)).ignored.as_deref(), Some("stream_options.a??b"));
    let tokens = running.post("/tokenize", &json!({"content": "hi", "x": 1}));
    assert_eq!((tokens.status, tokens.ignored.as_deref()), (200, Some("x")));
    assert_eq!(running.post("/detokenize", &json!({"tokens": [1], "y": 1})).ignored.as_deref(), Some("y"));
}

#[test]
fn what_could_change_an_answer_and_is_not_done_is_refused_by_name() {
    let running = start();
    let in_chats = [
        ("audio", json!({"voice": "x", "format": "wav"})),
        ("functions", json!([])),
        ("function_call", json!("auto")),
        ("modalities", json!(["text", "audio"])),
        ("prediction", json!({"type": "content", "content": "x"})),
        ("reasoning_effort", json!("low")),
        ("verbosity", json!("low")),
        ("web_search_options", json!({})),
        ("mirostat", json!(2)),
        ("grammar", json!("root ::= \"a\"")),
        ("samplers", json!(["top_k"])),
        ("dry_multiplier", json!(0.5)),
    ];
    let in_completions =
        [("suffix", json!("x")), ("best_of", json!(2)), ("n_probs", json!(3)), ("lora", json!([]))];
    let asked = in_chats.into_iter().map(|it| (CHAT, it)).chain(in_completions.map(|it| (RAW, it)));
    for (path, (field, value)) in asked {
        let more = json!({field: value});
        let body = if path == CHAT { chat("hi", more) } else { raw("hi", more) };
        let response = running.post(path, &body);
        let json = response.json();
        assert_eq!((response.status, &json["error"]["param"]), (400, &json!(field)), "{json}");
        assert!(json["error"]["message"].as_str().unwrap().contains("is not supported"), "{json}");
    }
    let message = json!([{"role": "assistant", "content": "x", "audio": {"id": "a"}}]);
    let refused = running.post(CHAT, &chat("", json!({"messages": message})));
    assert_eq!((refused.status, &refused.json()["error"]["param"]), (400, &json!("messages[0].audio")));
}

#[test]
fn what_is_done_anyway_and_what_cannot_change_an_answer_is_taken() {
    let running = start();
    let body = chat("hi", json!({"seed": 3}));
    let usual = json!({"seed": 3, "modalities": ["text"], "mirostat": 0.0, "mirostat_tau": 5, "grammar": "", "typical_p": 1,
        "xtc_probability": 0, "verbosity": "medium", "service_tier": "flex", "store": true, "cache_prompt": true, "user": "me"});
    let response = running.post(CHAT, &chat("hi", usual));
    assert_eq!((response.status, &response.ignored), (200, &None), "{}", response.text);
    assert_eq!(response.json()["choices"], running.answer(CHAT, &body)["choices"]);
    let schema = json!({"type": "object", "properties": {"a": {"enum": [1]}}, "required": ["a"], "additionalProperties": false});
    let more =
        json!({"response_format": {"type": "json_object", "schema": schema}, "max_tokens": 200, "seed": 1});
    let answer = running.answer(CHAT, &chat("hi", more));
    assert!(answer["choices"][0]["message"]["content"].as_str().unwrap().trim_start().starts_with('{'));
}
