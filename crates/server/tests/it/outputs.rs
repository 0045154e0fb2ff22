//! Outputs that a schema forces on the model, token by token.

use serde_json::{Value as Json, json};

use crate::support::{Running, chat, no_end, raw, start, with};

const CHAT: &str = "/v1/chat/completions";
const RAW: &str = "/v1/completions";

/// A chat whose answer can only be this string, as JSON.
fn forced(text: &str, more: Json) -> Json {
    let format = json!({"type": "json_schema", "json_schema": {"name": "it", "schema": {"const": text}}});
    with(
        chat("Say it.", json!({"response_format": format, "max_tokens": 200, "logprobs": true, "seed": 1})),
        more,
    )
}

/// Text, reason and the tokens' bytes of an answer, which must be the same as a stream; and the stream's pieces.
fn both(running: &Running, body: &Json) -> (String, Json, Vec<Vec<u8>>, Vec<String>) {
    let whole = running.answer(CHAT, body)["choices"][0].take();
    let text = whole["message"]["content"].as_str().unwrap().to_owned();
    let events = running.post(CHAT, &with(body.clone(), json!({"stream": true}))).events();
    let choices: Vec<&Json> = events.iter().filter_map(|event| event["choices"].get(0)).collect();
    let pieces: Vec<String> =
        choices.iter().filter_map(|it| it["delta"]["content"].as_str()).map(str::to_owned).collect();
    assert_eq!(pieces.concat(), text);
    let reasons: Vec<&Json> =
        choices.iter().map(|it| &it["finish_reason"]).filter(|it| !it.is_null()).collect();
    assert_eq!(reasons, [&whole["finish_reason"]]);
    let tokens = whole["logprobs"]["content"].as_array().unwrap().clone();
    let streamed =
        choices.iter().flat_map(|it| it["logprobs"]["content"].as_array().into_iter().flatten().cloned());
    assert_eq!(streamed.collect::<Vec<_>>(), tokens);
    let bytes = tokens.iter().map(|it| serde_json::from_value(it["bytes"].clone()).unwrap()).collect();
    (text, whole["finish_reason"].clone(), bytes, pieces)
}

#[test]
fn characters_that_tokens_cut_come_whole_and_their_bytes_are_told() {
    let running = start();
    let said = "🦙 ok é Жук 中";
    let (text, reason, bytes, pieces) = both(&running, &forced(said, json!({})));
    assert_eq!((text, reason), (format!("\"{said}\""), json!("stop")));
    assert!(
        bytes.contains(&vec![0xF0]) || bytes.iter().any(|it| std::str::from_utf8(it).is_err()),
        "{bytes:?}"
    );
    assert_eq!(bytes.concat(), format!("\"{said}\"").as_bytes());
    assert!(
        pieces.iter().any(|piece| piece.contains('🦙')) && pieces.iter().all(|it| !it.contains('\u{FFFD}'))
    );
}

#[test]
fn bytes_that_are_no_text_are_told_once_each_and_the_last_at_the_end() {
    let running = start();
    let vocabulary = running.server.model().tokenizer();
    let byte =
        |byte: u8| (0..vocabulary.n_vocab() as u32).find(|id| vocabulary.piece(*id) == [byte]).unwrap();
    for (first, count) in [(0xFF, 1), (0xFF, 3), (0xE2, 1), (0xE2, 4), (0x80, 2)] {
        let more = json!({"logit_bias": {byte(first).to_string(): 100}, "temperature": 0, "max_tokens": count, "logprobs": true});
        let (text, reason, bytes, _) = both(&running, &chat("Say it.", more));
        assert_eq!((text, reason), ("\u{FFFD}".repeat(count), json!("length")), "{first:x}");
        assert_eq!(bytes, vec![vec![first]; count]);
    }
}

#[test]
fn a_stop_text_ends_an_answer_before_it_wherever_tokens_meet() {
    let running = start();
    let five = json!(["never", "no", "not here", "nor here", "two three"]);
    let cases = [
        ("one two three four", json!(["two three"]), "\"one "),
        ("one two three four", json!("two three"), "\"one "),
        ("one two three four", five, "\"one "),
        ("a\\nUsb", json!(["\\nUser:", "\nUser:"]), "\"a\\\\nUsb\""),
        ("in the end", json!(["e", "the"]), "\"in "),
        ("x STOP y", json!("STOP"), "\"x "),
        ("ab 🦙🦙 cd", json!(["🦙 cd"]), "\"ab 🦙"),
        ("ab 🦙", json!(["🦙"]), "\"ab "),
        ("ab", Json::Null, "\"ab\""),
        ("Say it.", json!(["Say it.!"]), "\"Say it.\""),
    ];
    for (said, stop, expected) in cases {
        let (text, reason, _, _) = both(&running, &forced(said, json!({"stop": stop})));
        assert_eq!((text.as_str(), reason), (expected, json!("stop")), "{said} {stop}");
    }
    // In the prompt it does not count, and what was held back for it comes at the end.
    let body = raw("halt", json!({"stop": ["halt"], "max_tokens": 5, "logit_bias": no_end(&running)}));
    assert_eq!(running.answer(RAW, &body)["usage"]["completion_tokens"], 5);
    let cut = forced("one two three", json!({"stop": ["three!"], "max_tokens": 11}));
    let (text, reason, _, _) = both(&running, &cut);
    assert_eq!(reason, "length");
    assert!("\"one two three\"".starts_with(&text) && text.len() > 8, "{text}");
}

#[test]
fn a_schema_is_obeyed_or_refused_with_the_place_of_what_is_not_supported() {
    let running = start();
    let ask = |schema: &Json, seed: u64| {
        let tokenizer = running.server.model().tokenizer();
        let mut bias: Json = json!({});
        for id in ["\"", "}", "]"]
            .iter()
            .map(|text| tokenizer.id_of_text(text).unwrap())
            .chain(tokenizer.eog().iter().copied())
        {
            bias[id.to_string()] = json!(12);
        }
        let format = json!({"type": "json_schema", "json_schema": {"name": "it", "schema": schema}});
        let more = json!({"response_format": format, "temperature": 2, "seed": seed, "max_tokens": 300, "logit_bias": bias});
        running.post(CHAT, &chat("Say it.", more))
    };
    let obeyed = [
        json!({"$ref": "#/$defs/Color", "$defs": {"Color": {"enum": ["red", "gr\"een", 3, null]}}}),
        json!({"$ref": "#/$defs/Node", "$defs": {"Node": {"type": "object", "properties": {"c": {"type": "array", "items": {"$ref": "#/$defs/Node"}}}, "required": ["c"], "additionalProperties": false}}}),
        json!({"type": "object", "properties": {"job": {"type": "object", "properties": {"tag": {"type": "string", "pattern": "^[b-y]*z$", "maxLength": 2000}}}}}),
        json!({"type": "string", "pattern": "\\S"}),
        json!({"type": "string", "pattern": "^a{2,5}\\d?$"}),
        json!({"const": {"é": "\\u00e9\""}}),
        json!({"type": "object", "properties": {"a": {"type": "integer", "minimum": -5}, "b": {"type": "null"}}, "required": ["b", "a"], "additionalProperties": false}),
        json!({"type": "object", "additionalProperties": {"type": "boolean"}}),
        json!({"type": "array", "items": {"type": "boolean"}, "minItems": 1, "maxItems": 3}),
        json!({"type": "string", "format": "date-time"}),
    ];
    let mut finished = 0;
    for schema in &obeyed {
        let options = jsonschema::options().should_validate_formats(true);
        let validator = options.build(schema).unwrap();
        for seed in 0..5 {
            let response = ask(schema, seed);
            assert_eq!(response.status, 200, "{schema}: {}", response.text);
            let choice = response.json()["choices"][0].take();
            let text = choice["message"]["content"].as_str().unwrap();
            if choice["finish_reason"] == "stop" {
                finished += 1;
                let value: Json =
                    serde_json::from_str(text).unwrap_or_else(|error| panic!("{schema}: {error}: {text}"));
                assert!(validator.is_valid(&value), "{schema}: {text}");
            } else {
                assert_eq!(choice["finish_reason"], "length");
            }
        }
    }
    assert!(finished > 25, "{finished}");
    let refused = [
        (json!({"properties": {"a": {"pattern": "(?=x)"}}}), "/properties/a/pattern"),
        (json!({"properties": {"a": {"$ref": "#/$defs/None"}}}), "/properties/a/$ref"),
        (json!({"items": {"type": "strnig"}}), "/items/type"),
        (json!({"properties": {"a": {"not": {"type": "null"}}}}), "/properties/a/not"),
        (json!({"type": "array", "uniqueItems": true}), "/uniqueItems"),
    ];
    for (schema, pointer) in refused {
        let response = ask(&schema, 1);
        let error = response.json()["error"].take();
        assert_eq!((response.status, &error["param"]), (400, &json!("response_format")), "{schema}: {error}");
        assert!(error["message"].as_str().unwrap().contains(pointer), "{schema}: {error}");
    }
}
