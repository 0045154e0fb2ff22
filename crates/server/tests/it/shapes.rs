//! Answers in the published forms.

use serde_json::{Value as Json, json};

use crate::support::{chat, no_end, raw, start};

const CHAT: &str = "/v1/chat/completions";
const RAW: &str = "/v1/completions";

#[test]
fn a_chat_has_the_published_form() {
    let running = start();
    let answer = running.answer(CHAT, &chat("Hello there.", json!({"seed": 5})));
    assert!(answer["id"].as_str().unwrap().starts_with("chatcmpl-"));
    assert_eq!(answer["object"], "chat.completion");
    assert_eq!(answer["model"], "noise");
    assert_eq!(answer["seed"], 5);
    let choice = &answer["choices"][0];
    assert_eq!(choice["index"], 0);
    assert_eq!(choice["message"]["role"], "assistant");
    assert!(choice["message"]["content"].is_string());
    assert!(choice["logprobs"].is_null());
    assert!(["stop", "length"].contains(&choice["finish_reason"].as_str().unwrap()));
    let usage = &answer["usage"];
    let count = |name: &str| usage[name].as_u64().unwrap();
    assert_eq!(count("total_tokens"), count("prompt_tokens") + count("completion_tokens"));
    assert!(count("prompt_tokens") > 5);
    assert_eq!(usage["prompt_tokens_details"]["cached_tokens"], 0);
}

#[test]
fn a_prompt_that_began_before_is_told_to_be_cached() {
    let running = start();
    let body = chat("A long way to begin, which is the same again and again and again.", json!({"seed": 5}));
    let first = running.answer(CHAT, &body);
    let again = running.answer(CHAT, &body);
    assert!(again["usage"]["prompt_tokens_details"]["cached_tokens"].as_u64().unwrap() > 16);
    assert_eq!(first["choices"], again["choices"]);
}

#[test]
fn a_completion_answers_texts_and_tokens_several_times_each() {
    let running = start();
    let tokens =
        running.answer("/tokenize", &json!({"content": "Some text", "add_special": true}))["tokens"].clone();
    let more = |prompt: Json| raw("", json!({"prompt": prompt, "seed": 9, "temperature": 0.7}));
    let of_text = running.answer(RAW, &more(json!("Some text")));
    assert_eq!(of_text["object"], "text_completion");
    assert_eq!(of_text["choices"], running.answer(RAW, &more(tokens.clone()))["choices"]);
    assert_eq!(of_text["choices"], running.answer(RAW, &more(json!([tokens])))["choices"]);
    let mut body = more(json!(["Some text", "Other text"]));
    body["n"] = json!(2);
    let several = running.answer(RAW, &body);
    let choices = several["choices"].as_array().unwrap();
    assert_eq!(choices.iter().map(|c| c["index"].as_u64().unwrap()).collect::<Vec<_>>(), [0, 1, 2, 3]);
    assert_eq!(choices[0]["text"], of_text["choices"][0]["text"]);
    assert_ne!(choices[0]["text"], choices[1]["text"]);
    // The second answer is that of the next seed.
    let mut next = more(json!("Some text"));
    next["seed"] = json!(10);
    assert_eq!(choices[1]["text"], running.answer(RAW, &next)["choices"][0]["text"]);
}

#[test]
fn log_probabilities_come_for_each_token_in_both_forms() {
    let running = start();
    let more = json!({"logprobs": true, "top_logprobs": 3, "logit_bias": no_end(&running)});
    let answer = running.answer(CHAT, &chat("Hi", more));
    let tokens = answer["choices"][0]["logprobs"]["content"].as_array().unwrap();
    assert_eq!(tokens.len(), 12);
    for token in tokens {
        assert_eq!(token["top_logprobs"].as_array().unwrap().len(), 3);
        assert!(token["logprob"].as_f64().unwrap() <= 0.0);
        assert!(token["bytes"].is_array());
    }
    let answer = running.answer(RAW, &raw("Hi", json!({"logprobs": 2, "logit_bias": no_end(&running)})));
    let logprobs = &answer["choices"][0]["logprobs"];
    for list in ["tokens", "token_logprobs", "top_logprobs", "text_offset"] {
        assert_eq!(logprobs[list].as_array().unwrap().len(), 12, "{list}");
    }
}

#[test]
fn a_seed_that_was_not_given_is_told_and_gives_the_answer_again() {
    let running = start();
    let first = running.answer(CHAT, &chat("Hello", json!({})));
    let again = running.answer(CHAT, &chat("Hello", json!({"seed": first["seed"]})));
    assert_eq!(first["choices"], again["choices"]);
}

#[test]
fn the_server_tells_of_itself() {
    let running = start();
    assert_eq!(running.get("/health").json(), json!({"status": "ok"}));
    assert!(running.get("/").text.contains("/v1/chat/completions"));
    assert_eq!(running.get("/v1/models").json()["data"][0]["id"], "noise");
    assert_eq!(running.get("/v1/models/noise.gguf").json()["id"], "noise");
    let props = running.get("/props").json();
    assert_eq!((&props["n_ctx"], &props["parallel"]), (&json!(512), &json!(2)));
    let text = "Text, and <|im_end|> as such.";
    let tokens = running.answer("/tokenize", &json!({"content": text}));
    assert_eq!(running.answer("/detokenize", &tokens)["content"], text);
    running.answer(CHAT, &chat("Hello", json!({})));
    assert_eq!(running.metric("minfer_first_token_seconds_count"), 1.0);
    running.answer(RAW, &raw("Hello", json!({"max_tokens": 5, "logit_bias": no_end(&running), "n": 2})));
    assert_eq!(running.metric("minfer_first_token_seconds_count"), 3.0);
    assert_eq!(running.metric("minfer_queue_seconds_count"), 3.0);
    // The first answer had a token at least, the others four times one after another.
    assert!(running.metric("minfer_between_tokens_seconds_count") >= 8.0);
    assert!(running.metric("minfer_between_tokens_seconds_sum") > 0.0);
    assert!(running.metric("minfer_tokens_computed_total") > 5.0);
    let text = running.get("/metrics").text;
    let mut told = Vec::new();
    for line in text.lines() {
        match line.strip_prefix("# ").map(|line| line.split(' ').collect::<Vec<_>>()) {
            Some(words) if words[0] == "HELP" => told.push(words[1].to_owned()),
            Some(words) => {
                assert_eq!((words[0], Some(words[1])), ("TYPE", told.last().map(String::as_str)));
                assert!(["gauge", "counter", "summary"].contains(&words[2]), "{line}");
            }
            // Of the metric that was told of.
            None => assert!(line.starts_with(told.last().unwrap().as_str()), "{line}"),
        }
    }
    assert!(running.metric("minfer_responses_total{status=\"200\"}") >= 5.0);
}
