//! Answers in a form that was asked for, and calls of tools.

use serde_json::{Value as Json, json};
use server::ServerOptions;

use crate::support::{chat, model, start, start_with};

const CHAT: &str = "/v1/chat/completions";

#[test]
fn an_answer_obeys_its_schema() {
    let running = start();
    let schema = json!({"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"], "additionalProperties": false});
    let format =
        json!({"type": "json_schema", "json_schema": {"name": "it", "schema": schema, "strict": true}});
    for seed in 0..4 {
        let body = chat(
            "Yes?",
            json!({"response_format": format, "seed": seed, "temperature": 2, "max_tokens": 200}),
        );
        let answer = running.answer(CHAT, &body);
        let content = answer["choices"][0]["message"]["content"].as_str().unwrap();
        // White space may go on until the tokens are used up.
        if answer["choices"][0]["finish_reason"] == "stop" {
            let found: Json = serde_json::from_str(content).unwrap();
            assert!(found["ok"].is_boolean(), "{content}");
        }
    }
    let wrong =
        json!({"type": "json_schema", "json_schema": {"schema": {"properties": {"a": {"type": "strnig"}}}}});
    let response = running.post(CHAT, &chat("hi", json!({"response_format": wrong})));
    assert_eq!((response.status, &response.json()["error"]["param"]), (400, &json!("response_format")));
    assert!(response.text.contains("/properties/a/type"), "{}", response.text);
}

const TEMPLATE: &str = "{% if tools %}{% for t in tools %}{{ t | tojson }}{% endfor %} Call with <tool_call>{% endif %}\
    {% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}{% for c in m.tool_calls or [] %}\
    <tool_call>{{ c.function.arguments.a }}</tool_call>{% endfor %}<|im_end|>{% endfor %}";

/// The calls of a stream, put together, and why it ended.
fn streamed(events: &[Json]) -> (Vec<Json>, Json) {
    let (mut calls, mut reason): (Vec<Json>, Json) = (Vec::new(), Json::Null);
    for choice in events.iter().map(|event| &event["choices"][0]) {
        for part in choice["delta"]["tool_calls"].as_array().into_iter().flatten() {
            let index = part["index"].as_u64().unwrap() as usize;
            if index == calls.len() {
                assert!(part["id"].is_string() && part["type"] == "function");
                assert_eq!(part["function"]["arguments"], "");
                calls.push(json!({"name": part["function"]["name"], "arguments": ""}));
            } else {
                let arguments = calls[index]["arguments"].as_str().unwrap().to_owned();
                calls[index]["arguments"] =
                    (arguments + part["function"]["arguments"].as_str().unwrap()).into();
            }
        }
        if !choice["finish_reason"].is_null() {
            reason = choice["finish_reason"].clone();
        }
    }
    (calls, reason)
}

#[test]
fn a_tool_that_must_be_called_is_called_in_streams_too() {
    let running = start_with(model().with_chat_template(TEMPLATE).unwrap(), ServerOptions::default());
    let parameters = json!({"type": "object", "properties": {"a": {"enum": ["x", "y"]}}, "required": ["a"], "additionalProperties": false});
    let tools = json!([
        {"type": "function", "function": {"name": "first", "description": "d", "parameters": parameters}},
        {"type": "function", "function": {"name": "second", "parameters": parameters}},
    ]);
    let named = json!({"type": "function", "function": {"name": "second"}});
    for (choice, name) in [(json!("required"), None), (named, Some("second"))] {
        let mut body =
            chat("Do.", json!({"tools": tools, "tool_choice": choice, "seed": 3, "max_tokens": 300}));
        body["parallel_tool_calls"] = json!(false);
        let answer = running.answer(CHAT, &body);
        let choice = &answer["choices"][0];
        assert_eq!(choice["finish_reason"], "tool_calls", "{answer}");
        assert!(choice["message"]["content"].is_null());
        let calls = choice["message"]["tool_calls"].as_array().unwrap();
        assert_eq!(calls.len(), 1);
        let function = &calls[0]["function"];
        assert!(name.is_none_or(|name| function["name"] == name));
        let arguments: Json = serde_json::from_str(function["arguments"].as_str().unwrap()).unwrap();
        assert!(["x", "y"].contains(&arguments["a"].as_str().unwrap()));
        body["stream"] = json!(true);
        let (found, reason) = streamed(&running.post(CHAT, &body).events());
        assert_eq!((&found, reason), (&vec![function.clone()], json!("tool_calls")));
    }
    // What was called goes back as the interface has it, with its arguments in a string.
    let call =
        json!({"id": "c", "type": "function", "function": {"name": "first", "arguments": "{\"a\": \"x\"}"}});
    let messages = json!([
        {"role": "user", "content": "Do."},
        {"role": "assistant", "content": null, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": "done"},
    ]);
    running.answer(CHAT, &chat("", json!({"messages": messages, "tools": tools})));
    let undeclared =
        json!({"tools": tools, "tool_choice": {"type": "function", "function": {"name": "third"}}});
    assert_eq!(running.post(CHAT, &chat("Do.", undeclared)).json()["error"]["param"], "tool_choice");
    assert_eq!(running.post(CHAT, &chat("Do.", json!({"tool_choice": "required"}))).status, 400);
}

#[test]
fn without_a_choice_of_tools_the_model_hears_of_none_and_what_looks_like_a_call_is_text() {
    let running = start_with(model().with_chat_template(TEMPLATE).unwrap(), ServerOptions::default());
    let tools = json!([{"type": "function", "function": {"name": "first"}}]);
    let none = json!({"tools": tools, "tool_choice": "none", "seed": 3});
    let without = running.answer(CHAT, &chat("Do.", json!({"seed": 3})));
    let with_none = running.answer(CHAT, &chat("Do.", none.clone()));
    assert_eq!(
        (&without["choices"], &without["usage"]["prompt_tokens"]),
        (&with_none["choices"], &with_none["usage"]["prompt_tokens"])
    );
    let call = json!({"name": "first", "arguments": {}});
    let format = json!({"type": "json_schema", "json_schema": {"name": "it", "schema": {"const": call}}});
    for stream in [false, true] {
        let mut body = chat("Do.", none.clone());
        body["response_format"] = format.clone();
        body["max_tokens"] = json!(200);
        body["stream"] = json!(stream);
        let response = running.post(CHAT, &body);
        let (text, reason) = if stream {
            let events = response.events();
            let (calls, reason) = streamed(&events);
            assert_eq!(calls, Vec::<Json>::new());
            let pieces = events.iter().filter_map(|event| event["choices"][0]["delta"]["content"].as_str());
            (pieces.collect::<String>(), reason)
        } else {
            let choice = response.json()["choices"][0].take();
            assert!(choice["message"].get("tool_calls").is_none());
            (choice["message"]["content"].as_str().unwrap().to_owned(), choice["finish_reason"].clone())
        };
        assert_eq!(reason, "stop");
        assert_eq!(serde_json::from_str::<Json>(&text).unwrap(), call);
    }
}
