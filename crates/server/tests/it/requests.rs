//! Requests of every shape are answered or refused at once, in the form of the interface, and the next one is answered.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use minfer::{GgufFile, Model};
use serde_json::{Value as Json, json};
use server::ServerOptions;

use crate::support::{Running, chat, model, no_end, raw, start, start_with, with};

const CHAT: &str = "/v1/chat/completions";
const RAW: &str = "/v1/completions";

/// A model that begins texts with a token of its own.
fn model_with_bos() -> Model {
    let bytes = synthetic::build("llama", "micro", "F32", 1, None).unwrap();
    Model::from_file(GgufFile::from_bytes(&bytes).unwrap()).unwrap()
}

/// Status, type, parameter and message of a refusal.
fn refusal(running: &Running, path: &str, body: &[u8]) -> (u16, Json, String) {
    let shown = String::from_utf8_lossy(&body[..body.len().min(100)]).into_owned();
    let response = running.post_bytes(path, body);
    let error = response.json()["error"].take();
    assert_eq!(error["type"], "invalid_request_error", "{shown}: {error}");
    assert!(error.get("code").is_some() && error.get("param").is_some(), "{shown}: {error}");
    (response.status, error["param"].clone(), error["message"].as_str().expect("a message").to_owned())
}

fn refused(running: &Running, path: &str, body: &Json, param: &str) -> String {
    let (status, found, message) = refusal(running, path, body.to_string().as_bytes());
    assert_eq!((status, &found), (400, &json!(param)), "{body}: {message}");
    message
}

#[test]
fn a_method_that_a_route_does_not_take_is_named() {
    let running = start();
    let ask = |method: &str, path: &str| {
        let mut stream = TcpStream::connect(running.address).unwrap();
        let head =
            format!("{method} {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");
        stream.write_all(head.as_bytes()).unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        text
    };
    let posts = [CHAT, RAW, "/v1/responses", "/v1/embeddings", "/tokenize", "/detokenize"];
    let gets = ["/v1/models", "/metrics", "/props", "/health", "/openapi.json", "/"];
    let wrong = posts.map(|path| (path, ["GET", "PUT", "DELETE", "PATCH", "HEAD"]));
    let wrong = wrong.into_iter().chain(gets.map(|path| (path, ["POST", "PUT", "DELETE", "PATCH", "TRACE"])));
    for (path, methods) in wrong {
        for method in methods {
            let told = ask(method, path);
            let (head, body) = told.split_once("\r\n\r\n").unwrap();
            assert!(head.starts_with("HTTP/1.1 405"), "{method} {path}: {told}");
            assert!(head.to_lowercase().contains("allow: "), "{method} {path}: {head}");
            if method != "HEAD" {
                let error = &serde_json::from_str::<Json>(body).unwrap()["error"];
                assert!(error["message"].as_str().unwrap().contains(method), "{method} {path}: {error}");
            }
        }
    }
    running.answer(CHAT, &chat("hi", json!({})));
}

#[test]
fn a_body_of_any_type_is_read_as_json() {
    let running = start();
    let body = raw("word", json!({"max_tokens": 1})).to_string();
    for kind in [None, Some("text/plain"), Some("application/x-www-form-urlencoded"), Some("nonsense")] {
        let request = ureq::post(format!("http://{}{RAW}", running.address));
        let request = match kind {
            Some(kind) => request.header("Content-Type", kind),
            None => request,
        };
        assert_eq!(request.send(body.as_bytes()).unwrap().status().as_u16(), 200, "{kind:?}");
    }
}

#[test]
fn a_body_of_a_hundred_megabytes_is_refused_before_it_is_here() {
    let running = start();
    for sent in [0, 100_000_000] {
        let mut stream = TcpStream::connect(running.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        let head = format!("POST {CHAT} HTTP/1.1\r\nHost: x\r\nContent-Length: 100000000\r\n\r\n");
        stream.write_all(head.as_bytes()).unwrap();
        // The server may have answered and closed before all is sent.
        let piece = vec![b'x'; 1 << 20];
        let _ = (0..sent / piece.len()).try_for_each(|_| stream.write_all(&piece));
        let mut told = [0; 12];
        match stream.read_exact(&mut told) {
            Ok(()) => assert_eq!(&told, b"HTTP/1.1 413"),
            Err(error) => assert_eq!((sent > 0, error.kind()), (true, std::io::ErrorKind::ConnectionReset)),
        }
        running.answer(CHAT, &chat("hi", json!({})));
    }
}

#[test]
fn values_in_values_without_end_are_no_json() {
    let running = start();
    let deep = |open: &str, close: &str| format!("{}1{}", open.repeat(100_000), close.repeat(100_000));
    for value in [deep("[", "]"), deep("{\"a\":", "}"), "[".repeat(100_000), "{\"a\":".repeat(100_000)] {
        for field in ["messages", "tools", "response_format", "user", "unknown", "chat_template_kwargs"] {
            let body = format!(
                "{{\"messages\": [{{\"role\": \"user\", \"content\": \"a\"}}], \"{field}\": {value}}}"
            );
            let (status, param, message) = refusal(&running, CHAT, body.as_bytes());
            assert_eq!((status, param), (400, Json::Null), "{field}: {message}");
        }
    }
    // Arguments of earlier calls are JSON in a string.
    let arguments = deep("[", "]");
    let call = json!({"id": "c", "type": "function", "function": {"name": "f", "arguments": arguments}});
    let messages = json!([{"role": "assistant", "content": "a", "tool_calls": [call]}]);
    running.answer(CHAT, &chat("", json!({"messages": messages})));
}

#[test]
fn bytes_that_are_no_text_are_refused() {
    let running = start();
    let bodies: [&[u8]; 6] = [
        b"{\"prompt\": \"\xff\"}",
        b"{\"prompt\": \"a\xe2\x82\"}",
        b"\xef\xbb\xbf{\"prompt\": \"a\"}",
        br#"{"prompt": "\ud800"}"#,
        br#"{"prompt": "\udc00\ud800"}"#,
        b"{\"prompt\": \"a\nb\"}",
    ];
    for body in bodies {
        for path in [CHAT, RAW, "/v1/responses", "/tokenize"] {
            let (status, ..) = refusal(&running, path, body);
            assert_eq!(status, 400, "{path}");
        }
    }
    running.answer(RAW, &raw("\u{0} \u{10FFFF} \u{FFFD}", json!({})));
}

#[test]
fn numbers_out_of_range_are_refused_with_their_field() {
    let running = start();
    let fields = [
        ("max_tokens", ["-1", "0.5", "1e308", "9223372036854775808", "\"5\"", "[]", "true"]),
        ("n", ["-1", "0", "1e308", "129", "\"1\"", "{}", "1.5"]),
        ("temperature", ["-0.1", "1e39", "\"hot\"", "[]", "true", "-1e308", "{}"]),
        ("top_p", ["-0.1", "1.1", "1e308", "\"1\"", "[]", "true", "-1e308"]),
        ("seed", ["0.5", "1e308", "9223372036854775808", "\"1\"", "[]", "true", "-9223372036854775809"]),
        ("stream", ["\"false\"", "0", "1", "[]", "{}", "\"\"", "0.0"]),
        ("stop", ["{}", "1", "[1]", "[\"a\", null]", "[[]]", "\"\"", "[\"a\", \"\"]"]),
    ];
    for path in [CHAT, RAW] {
        let body = if path == CHAT { chat("hi", json!({})) } else { raw("hi", json!({})) };
        for (field, values) in fields {
            for value in values {
                let mut text = with(body.clone(), json!({field: 0})).to_string();
                text = text.replace(&format!("\"{field}\":0"), &format!("\"{field}\":{value}"));
                let (status, param, message) = refusal(&running, path, text.as_bytes());
                let param = param.as_str().unwrap_or_default().to_owned();
                assert!(status == 400 && param.starts_with(field), "{field} {value}: {status} {message}");
            }
        }
        // No number of JSON at all.
        let (status, ..) = refusal(&running, path, br#"{"prompt": "a", "max_tokens": 1e400}"#);
        assert_eq!(status, 400);
    }
    running.answer(CHAT, &chat("hi", json!({"seed": -5, "temperature": 0, "top_p": 1, "n": 2})));
}

#[test]
fn null_is_absent_and_of_a_key_that_comes_twice_the_last_counts() {
    let running = start();
    let names = [
        "stream",
        "stream_options",
        "max_tokens",
        "max_completion_tokens",
        "n",
        "temperature",
        "top_p",
        "seed",
        "stop",
        "logit_bias",
        "logprobs",
        "top_logprobs",
        "tools",
        "tool_choice",
        "parallel_tool_calls",
        "response_format",
        "user",
        "presence_penalty",
        "frequency_penalty",
        "model",
        "chat_template_kwargs",
        "metadata",
        "store",
    ];
    let nulls: Json =
        names.map(|name| (name.to_owned(), Json::Null)).into_iter().collect::<serde_json::Map<_, _>>().into();
    let response = running.post(CHAT, &with(chat("hi", json!({})), nulls));
    assert_eq!((response.status, &response.ignored), (200, &None), "{}", response.text);
    let ends = no_end(&running);
    let body = format!(
        "{{\"prompt\": 5, \"prompt\": \"word\", \"max_tokens\": 9, \"max_tokens\": 3, \"logit_bias\": {ends}}}"
    );
    let twice = running.post_bytes(RAW, body.as_bytes());
    assert_eq!(
        (twice.status, &twice.json()["usage"]["completion_tokens"]),
        (200, &json!(3)),
        "{}",
        twice.text
    );
}

#[test]
fn nothing_to_start_from_is_refused_unless_the_model_has_a_token_to_begin_with() {
    for has_bos in [false, true] {
        let model = if has_bos { model_with_bos() } else { model() };
        assert_eq!(model.tokenize("", true).unwrap().len(), usize::from(has_bos));
        let n_vocab = model.config().n_vocab as u64;
        let running = start_with(model.with_chat_template("").unwrap(), ServerOptions::default());
        let of = |prompt: &Json| {
            raw("", json!({"prompt": prompt, "max_tokens": 4, "logit_bias": no_end(&running)}))
        };
        for prompt in [json!(""), json!([""]), json!(["", ""])] {
            if has_bos {
                assert!(
                    !running.answer(RAW, &of(&prompt))["choices"][0]["text"].as_str().unwrap().is_empty()
                );
            } else {
                assert!(refused(&running, RAW, &of(&prompt), "prompt").contains("the prompt is empty"));
            }
        }
        let empty = chat("hi", json!({}));
        if has_bos {
            running.answer(CHAT, &empty);
        } else {
            assert!(refused(&running, CHAT, &empty, "messages").contains("the prompt is empty"));
        }
        for prompt in [json!([]), json!([[]]), json!(["a", []])] {
            assert!(refused(&running, RAW, &of(&prompt), "prompt").contains("empty"), "{prompt}");
        }
        let wrong = [
            (json!([-1]), "prompt[0]", "-1".to_owned()),
            (json!([1, n_vocab]), "prompt[1]", n_vocab.to_string()),
            (json!([1, 2, 2_147_483_648_u64]), "prompt[2]", "2147483648".to_owned()),
            (json!([4_294_967_297_u64]), "prompt[0]", "4294967297".to_owned()),
            (json!([[1], [1, 1e30]]), "prompt[1][1]", "1e+30".to_owned()),
            (json!([1, "a"]), "prompt[1]", "a string".to_owned()),
            (json!(["a", 1]), "prompt[1]", "a number".to_owned()),
        ];
        for (prompt, param, words) in wrong {
            let message = refused(&running, RAW, &of(&prompt), param);
            assert!(message.contains(&words) || param == "prompt[1]", "{message}");
        }
        // One token is enough, and a prompt that the cache has as a whole is answered as before.
        let one = running.answer(RAW, &of(&json!([n_vocab - 1])));
        assert_eq!(one["usage"]["prompt_tokens"], 1);
        let long: Vec<u64> = (0..100).map(|i| i * 7 % n_vocab).collect();
        let [cold, cached] = [(); 2].map(|()| {
            let body = with(of(&json!(long)), json!({"seed": 3, "temperature": 0.8, "max_tokens": 40}));
            running.answer(RAW, &body)
        });
        assert_eq!(cached["usage"]["prompt_tokens_details"]["cached_tokens"], 99);
        assert_eq!(cold["usage"]["prompt_tokens_details"]["cached_tokens"], 0);
        assert_eq!(cold["choices"], cached["choices"]);
    }
}
