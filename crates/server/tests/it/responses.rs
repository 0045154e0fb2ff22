//! The Responses interface: what it answers, and the order of its events.

use serde_json::{Value as Json, json};
use server::ServerOptions;

use crate::support::{Response, Running, chat, model, no_end, start, start_with, with};

const PATH: &str = "/v1/responses";

/// A request of one text, with further fields.
fn ask(text: &str, more: Json) -> Json {
    with(json!({"model": "noise", "input": text, "max_output_tokens": 12}), more)
}

/// The events of a stream, whose names are their types and whose numbers count up.
fn events(response: &Response) -> Vec<Json> {
    assert_eq!(response.status, 200, "{}", response.text);
    let mut events = Vec::new();
    for event in response.text.split("\n\n").filter(|event| !event.is_empty()) {
        let (name, data) = event.split_once('\n').unwrap();
        let data: Json = serde_json::from_str(data.strip_prefix("data: ").unwrap()).unwrap();
        assert_eq!(name.strip_prefix("event: "), data["type"].as_str());
        assert_eq!(data["sequence_number"], events.len());
        events.push(data);
    }
    events
}

/// Puts a response together as a client does, and refuses events out of their order.
#[derive(Default)]
struct Client {
    output: Vec<Json>,
    /// An item that has begun, its text or arguments so far, the probabilities so far, and whether those are over.
    open: Option<(Json, String, Vec<Json>, bool)>,
}

impl Client {
    fn take(&mut self, event: &Json) {
        let kind = event["type"].as_str().unwrap().strip_prefix("response.").unwrap();
        if kind == "output_item.added" {
            let item = event["item"].clone();
            assert!(self.open.is_none() && event["output_index"] == self.output.len());
            assert_eq!(item["status"], "in_progress");
            let empty = if item["type"] == "message" { &item["content"] } else { &item["arguments"] };
            assert!(*empty == json!([]) || *empty == "", "{item}");
            self.open = Some((item, String::new(), Vec::new(), false));
            return;
        }
        let (item, text, logprobs, is_over) = self.open.as_mut().expect("an item has begun");
        assert_eq!(event["output_index"], self.output.len());
        if kind == "output_item.done" {
            let done = event["item"].clone();
            assert_eq!((&done["id"], &done["type"], *is_over), (&item["id"], &item["type"], true));
            let whole =
                if done["type"] == "message" { &done["content"][0]["text"] } else { &done["arguments"] };
            assert_eq!(whole, text);
            self.output.push(done);
            self.open = None;
            return;
        }
        assert_eq!(event["item_id"], item["id"]);
        let is_message = item["type"] == "message";
        assert_eq!(event["content_index"].as_u64(), is_message.then_some(0));
        match (kind, is_message) {
            ("content_part.added", true) => {
                assert_eq!(event["part"]["text"], "");
                assert_eq!(item["content"], json!([]), "a part is added once");
                item["content"] = json!([event["part"]]);
            }
            ("output_text.delta", true) | ("function_call_arguments.delta", false) => {
                assert!(!*is_over && (!is_message || item["content"][0]["type"] == "output_text"));
                text.push_str(event["delta"].as_str().unwrap());
                logprobs.extend(event["logprobs"].as_array().into_iter().flatten().cloned());
            }
            ("output_text.done", true) => {
                assert_eq!((&event["text"], &event["logprobs"]), (&json!(text), &json!(logprobs)));
                *is_over = true;
            }
            ("content_part.done", true) => {
                let part =
                    json!({"type": "output_text", "text": text, "annotations": [], "logprobs": logprobs});
                assert_eq!((&event["part"], *is_over), (&part, true));
            }
            ("function_call_arguments.done", false) => {
                assert_eq!((&event["arguments"], &event["name"]), (&json!(text), &item["name"]));
                *is_over = true;
            }
            other => panic!("out of order: {other:?}"),
        }
    }
}

/// Without what differs from one time to the next.
fn plain(mut response: Json) -> Json {
    for field in ["id", "created_at", "completed_at"] {
        response[field] = Json::Null;
    }
    response["usage"]["input_tokens_details"] = Json::Null;
    if response["parallel_tool_calls"] == false {
        // How far the engine gets before it is told to end the answer.
        response["usage"] = Json::Null;
    }
    for item in response["output"].as_array_mut().unwrap() {
        for field in ["id", "call_id"] {
            if !item[field].is_null() {
                assert!(item[field].as_str().unwrap().len() > 20);
                item[field] = "some".into();
            }
        }
    }
    response
}

/// A response as a whole, which its stream tells as well.
fn both(running: &Running, body: &Json) -> Json {
    let whole = running.answer(PATH, body);
    let mut streamed = body.clone();
    streamed["stream"] = true.into();
    let events = events(&running.post(PATH, &streamed));
    let [created, in_progress, between @ .., last] = events.as_slice() else { panic!("{events:?}") };
    assert_eq!(
        (&created["type"], &in_progress["type"]),
        (&json!("response.created"), &json!("response.in_progress"))
    );
    for first in [created, in_progress] {
        let response = &first["response"];
        assert_eq!((&response["status"], &response["output"]), (&json!("in_progress"), &json!([])));
        assert_eq!(response["id"], last["response"]["id"]);
    }
    let mut client = Client::default();
    between.iter().for_each(|event| client.take(event));
    let response = &last["response"];
    assert_eq!(last["type"], format!("response.{}", response["status"].as_str().unwrap()));
    assert!(client.open.is_none());
    assert_eq!(response["output"], json!(client.output));
    assert_eq!(plain(response.clone()), plain(whole.clone()));
    whole
}

fn text(response: &Json) -> &str {
    response["output"][0]["content"][0]["text"].as_str().unwrap()
}

#[test]
fn a_response_has_the_published_form_and_its_stream_joins_to_it() {
    let running = start();
    for seed in 0..4 {
        let response =
            both(&running, &ask("Hello", json!({"seed": seed, "stop": ["a"], "max_output_tokens": 24})));
        assert!(["completed", "incomplete"].contains(&response["status"].as_str().unwrap()));
    }
    let more = json!({"seed": 7, "temperature": 0.7, "metadata": {"a": "b"}, "user": "me", "logit_bias": no_end(&running)});
    let response = both(&running, &ask("Hello", more));
    assert!(response["id"].as_str().unwrap().starts_with("resp_"));
    assert_eq!((&response["object"], &response["model"]), (&json!("response"), &json!("noise")));
    assert_eq!((&response["status"], &response["completed_at"]), (&json!("incomplete"), &Json::Null));
    assert_eq!(response["incomplete_details"], json!({"reason": "max_output_tokens"}));
    let told = [
        ("temperature", json!(0.7)),
        ("top_p", json!(1.0)),
        ("seed", json!(7)),
        ("max_output_tokens", json!(12)),
        ("metadata", json!({"a": "b"})),
        ("user", json!("me")),
        ("tools", json!([])),
        ("tool_choice", json!("auto")),
        ("parallel_tool_calls", json!(true)),
        ("instructions", Json::Null),
        ("error", Json::Null),
        ("store", json!(false)),
    ];
    for (field, value) in told {
        assert_eq!(response[field], value, "{field}");
    }
    let item = &response["output"][0];
    assert_eq!(
        (&item["type"], &item["role"], &item["status"]),
        (&json!("message"), &json!("assistant"), &json!("incomplete"))
    );
    let usage = &response["usage"];
    assert_eq!(usage["output_tokens"], 12);
    assert_eq!(usage["output_tokens_details"], json!({"reasoning_tokens": 0}));
    assert!(usage["input_tokens_details"]["cached_tokens"].is_u64());
    let count = |name: &str| usage[name].as_u64().unwrap();
    assert_eq!(count("total_tokens"), count("input_tokens") + 12);
}

#[test]
fn the_same_conversation_gives_the_text_and_the_probabilities_of_a_chat() {
    let running = start();
    let part = |kind: &str, text: &str| json!([{"type": kind, "text": text}]);
    let cases = [
        (json!({"input": "Hello"}), json!([{"role": "user", "content": "Hello"}])),
        (
            json!({"instructions": "Be kind.", "input": [
                {"role": "developer", "content": "And short."},
                {"role": "user", "content": part("input_text", "Hello")},
                {"type": "message", "role": "assistant", "id": "msg_1", "status": "completed", "content": part("output_text", "Hi")},
                {"type": "message", "role": "user", "content": "And now?"},
            ]}),
            json!([
                {"role": "system", "content": "Be kind."}, {"role": "developer", "content": "And short."},
                {"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Hi"},
                {"role": "user", "content": [{"type": "text", "text": "And now?"}]},
            ]),
        ),
    ];
    for (asked, messages) in cases {
        for seed in 0..3 {
            let more =
                json!({"seed": seed, "top_k": 40, "logprobs": true, "top_logprobs": 2, "messages": messages});
            let chat = running.answer("/v1/chat/completions", &chat("", more));
            let more = json!({"seed": seed, "top_k": 40, "include": ["message.output_text.logprobs"], "top_logprobs": 2});
            let response = both(&running, &with(ask("", more), asked.clone()));
            let choice = &chat["choices"][0];
            assert_eq!(text(&response), choice["message"]["content"]);
            assert_eq!(response["output"][0]["content"][0]["logprobs"], choice["logprobs"]["content"]);
            assert_eq!(response["usage"]["total_tokens"], chat["usage"]["total_tokens"]);
        }
    }
}

#[test]
fn a_response_obeys_its_schema() {
    let running = start();
    let schema = json!({"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"], "additionalProperties": false});
    let format = json!({"type": "json_schema", "name": "it", "strict": true, "schema": schema});
    for seed in 0..3 {
        let more =
            json!({"text": {"format": format}, "seed": seed, "temperature": 2, "max_output_tokens": 200});
        let response = both(&running, &ask("Yes?", more));
        assert_eq!(response["text"]["format"], format);
        // White space may go on until the tokens are used up.
        if response["status"] == "completed" {
            let found: Json = serde_json::from_str(text(&response)).unwrap();
            assert!(found["ok"].is_boolean(), "{found}");
        }
    }
}

const TEMPLATE: &str = "{% if tools %}{% for t in tools %}{{ t | tojson }}{% endfor %} Call with <tool_call>{% endif %}\
    {% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}{% for c in m.tool_calls or [] %}\
    <tool_call>{{ c.function.arguments.a }}</tool_call>{% endfor %}<|im_end|>{% endfor %}";

fn tools() -> Json {
    let parameters = json!({"type": "object", "properties": {"a": {"enum": ["x", "y"]}}, "required": ["a"], "additionalProperties": false});
    json!([
        {"type": "function", "name": "first", "description": "d", "parameters": parameters},
        {"type": "function", "name": "second", "parameters": parameters, "strict": true},
    ])
}

/// Tools as chats write them.
fn nested(tools: &Json) -> Json {
    let one = |tool: &Json| {
        let mut function = tool.clone();
        function.as_object_mut().unwrap().shift_remove("type");
        json!({"type": "function", "function": function})
    };
    tools.as_array().unwrap().iter().map(one).collect()
}

#[test]
fn a_function_that_must_be_called_is_called_as_in_chats() {
    let running = start_with(model().with_chat_template(TEMPLATE).unwrap(), ServerOptions::default());
    let named = [
        json!({"type": "function", "name": "second"}),
        json!({"type": "function", "function": {"name": "second"}}),
    ];
    for [flat, in_chat] in [[json!("required"), json!("required")], named] {
        let more = json!({"tools": tools(), "tool_choice": flat, "seed": 3, "parallel_tool_calls": false, "max_output_tokens": 300});
        let response = both(&running, &ask("Do.", more));
        assert_eq!((&response["status"], &response["tool_choice"]), (&json!("completed"), &flat));
        assert_eq!(response["tools"], tools());
        let more = json!({"tools": nested(&tools()), "tool_choice": in_chat, "seed": 3, "parallel_tool_calls": false, "max_tokens": 300});
        let chat = running.answer("/v1/chat/completions", &chat("Do.", more));
        let call = &chat["choices"][0]["message"]["tool_calls"][0]["function"];
        let items = response["output"].as_array().unwrap();
        assert_eq!(items.len(), 1);
        assert!(items[0]["id"].as_str().unwrap().starts_with("fc_"));
        assert!(items[0]["call_id"].as_str().unwrap().starts_with("call_"));
        assert_eq!((&items[0]["type"], &items[0]["status"]), (&json!("function_call"), &json!("completed")));
        assert_eq!((&items[0]["name"], &items[0]["arguments"]), (&call["name"], &call["arguments"]));
    }
    // Several calls in one answer, and one that is cut.
    let more = json!({"tools": tools(), "tool_choice": "required", "seed": 3, "max_output_tokens": 200});
    let several = both(&running, &ask("Do.", more.clone()));
    assert!(several["output"].as_array().unwrap().iter().any(|item| item["type"] == "function_call"));
    let cut = (1..60).find_map(|tokens| {
        let mut body = ask("Do.", more.clone());
        body["max_output_tokens"] = tokens.into();
        let response = both(&running, &body);
        (response["output"][0]["type"] == "function_call").then_some(response)
    });
    let cut = cut.expect("a call had begun");
    assert_eq!((&cut["status"], &cut["output"][0]["status"]), (&json!("incomplete"), &json!("incomplete")));
}

#[test]
fn results_of_calls_go_back_as_in_chats() {
    let running = start_with(model().with_chat_template(TEMPLATE).unwrap(), ServerOptions::default());
    let call = |id: &str| json!({"type": "function_call", "id": "fc_1", "call_id": id, "name": "first", "arguments": "{\"a\": \"x\"}", "status": "completed"});
    let output = |id: &str| json!({"type": "function_call_output", "call_id": id, "output": "done"});
    let user = json!({"role": "user", "content": "Do."});
    let said = json!({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Well.", "annotations": [], "logprobs": []}]});
    let input = json!([user, said, call("c"), call("d"), output("c"), output("d")]);
    let response = both(&running, &ask("", json!({"input": input, "tools": tools(), "seed": 1})));
    let in_chat = |id: &str| json!({"id": id, "type": "function", "function": {"name": "first", "arguments": "{\"a\": \"x\"}"}});
    let messages = json!([
        user,
        {"role": "assistant", "content": "Well.", "tool_calls": [in_chat("c"), in_chat("d")]},
        {"role": "tool", "tool_call_id": "c", "content": "done"},
        {"role": "tool", "tool_call_id": "d", "content": "done"},
    ]);
    let chat = running.answer(
        "/v1/chat/completions",
        &chat("", json!({"messages": messages, "tools": nested(&tools()), "seed": 1})),
    );
    assert_eq!(text(&response), chat["choices"][0]["message"]["content"]);
    assert_eq!(response["usage"]["total_tokens"], chat["usage"]["total_tokens"]);
    let lone = ask("", json!({"input": [user, output("e")]}));
    let refused = running.post(PATH, &lone).json();
    assert_eq!(refused["error"]["param"], "input[1].call_id");
}

#[test]
fn what_is_not_done_is_refused_by_its_name() {
    let running = start();
    let message = |part: Json| json!([{"role": "user", "content": [part]}]);
    let format = |format: Json| json!({"format": format});
    let refused = [
        ("input", Json::Null, "input"),
        ("input", json!([]), "input"),
        ("input", json!(5), "input"),
        ("input", json!(["a"]), "input[0]"),
        ("input", json!([{"content": "a"}]), "input[0].role"),
        ("input", json!([{"role": "tool", "content": "a"}]), "input[0].role"),
        ("input", json!([{"role": "user"}]), "input[0].content"),
        ("input", message(json!({"type": "input_image", "image_url": "x"})), "input[0].content[0].type"),
        ("input", json!([{"type": "item_reference", "id": "x"}]), "input[0].type"),
        ("input", json!([{"type": "web_search_call", "id": "x"}]), "input[0].type"),
        ("input", json!([{"type": "function_call", "name": "f", "arguments": "{}"}]), "input[0].call_id"),
        ("tools", json!([{"type": "web_search"}]), "tools[0].type"),
        ("tools", json!([{"type": "function", "function": {"name": "f"}}]), "tools[0].name"),
        ("tool_choice", json!("required"), "tool_choice"),
        ("tool_choice", json!({"type": "function", "function": {"name": "f"}}), "tool_choice"),
        ("previous_response_id", json!("resp_1"), "previous_response_id"),
        ("conversation", json!("conv_1"), "conversation"),
        ("background", json!(true), "background"),
        ("truncation", json!("auto"), "truncation"),
        ("reasoning", json!({"effort": "high"}), "reasoning.effort"),
        ("include", json!(["everything"]), "include[0]"),
        ("top_logprobs", json!(2), "top_logprobs"),
        ("max_output_tokens", json!(0), "max_output_tokens"),
        ("max_tokens", json!(5), "max_tokens"),
        ("n", json!(2), "n"),
        ("text", format(json!({"type": "xml"})), "text.format.type"),
        ("text", format(json!({"type": "json_schema", "name": "a"})), "text.format.schema"),
        ("text", format(json!({"type": "json_schema", "schema": {"type": "strnig"}})), "text.format"),
        ("text", json!({"verbosity": "low"}), "text.verbosity"),
        ("instructions", json!(["a"]), "instructions"),
    ];
    for (field, value, param) in refused {
        let response = running.post(PATH, &ask("hi", json!({field: value})));
        assert_eq!(
            (response.status, &response.json()["error"]["param"]),
            (400, &json!(param)),
            "{}",
            response.text
        );
    }
    let long = running.post(PATH, &ask(&"word ".repeat(700), json!({}))).json();
    assert_eq!(
        (&long["error"]["code"], &long["error"]["param"]),
        (&json!("context_length_exceeded"), &json!("input"))
    );
    assert_eq!(running.get("/v1/responses/resp_1").status, 404);
}

#[test]
fn what_cannot_change_an_answer_is_taken_and_the_rest_is_told() {
    let running = start();
    let more = json!({
        "store": true, "background": false, "truncation": "disabled", "previous_response_id": null, "service_tier": "auto",
        "reasoning": {"effort": null, "summary": "auto"}, "include": ["reasoning.encrypted_content"], "max_tool_calls": 3,
        "text": {"format": {"type": "text"}}, "tools": [], "prompt_cache_key": "k", "safety_identifier": "s",
    });
    let response = running.post(PATH, &ask("hi", more));
    assert_eq!((response.status, &response.ignored), (200, &None), "{}", response.text);
    assert_eq!(response.json()["prompt_cache_key"], "k");
    let input = json!([{"type": "reasoning", "id": "rs_1", "summary": []}, {"role": "user", "content": "hi", "extra": 1}]);
    let response = running.post(PATH, &ask("", json!({"input": input, "unheard": 1})));
    assert_eq!(
        (response.status, response.ignored.as_deref()),
        (200, Some("input[0], input[1].extra, unheard"))
    );
}
