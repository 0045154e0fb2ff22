//! What a stream and a whole answer make of outputs that no random model writes.

use std::sync::Arc;

use minfer::{
    Engine, EngineOptions, FinishReason, GenerateOptions, GgufFile, Happening, Model, SessionOptions, Usage,
};
use serde_json::{Value as Json, json};
use tools::{Form as CallForm, Parser};

use crate::answer::Spent;
use crate::choice::{Choice, Delta};
use crate::reply::{Form, Reply};
use crate::teller::Teller;
use crate::{Server, ServerOptions};

fn server() -> Arc<Server> {
    let bytes = synthetic::build("qwen2", "micro", "F32", 1, None).unwrap();
    let model = Model::from_file(GgufFile::from_bytes(&bytes).unwrap()).unwrap();
    let session = SessionOptions { n_ctx: 32, ..SessionOptions::default() };
    let engine = EngineOptions { session, threads: Some(1), ..EngineOptions::default() };
    Arc::new(Server::new(Engine::new(Arc::new(model), &engine).unwrap(), ServerOptions::default()))
}

/// What is told after each piece of an output, and after its end.
fn deltas(form: CallForm, pieces: &[&str], reason: FinishReason) -> Vec<Vec<Delta>> {
    let mut choice = Choice::new(Some(Parser::new(form).with_declared(["f", "g"])), true);
    let happenings = pieces.iter().map(|piece| Happening::Text((*piece).to_owned()));
    let end = Happening::Finished { reason, usage: Usage::default() };
    happenings.chain([end]).map(|happening| choice.take(happening, |_| false).unwrap()).collect()
}

fn teller(server: &Arc<Server>, stream: bool) -> Box<Reply> {
    Reply::new(Form::Chat, server, &[(vec![1], GenerateOptions::default())], stream, false)
}

/// The choice of a whole answer, and those of the stream's events for each piece.
fn told(form: CallForm, pieces: &[&str], reason: FinishReason) -> (Json, Vec<Vec<Json>>) {
    let server = server();
    let mut whole = teller(&server, false);
    deltas(form, pieces, reason).into_iter().flatten().for_each(|delta| whole.add(0, delta));
    let whole = whole.whole(Spent::default())["choices"][0].take();
    let mut stream = teller(&server, true);
    let parsed = |event: String| {
        let data = event.strip_prefix("data: ").unwrap().trim_end().to_owned();
        serde_json::from_str::<Json>(&data).unwrap()["choices"][0].take()
    };
    let of_piece = |deltas: Vec<Delta>| {
        let events = deltas.into_iter().flat_map(|delta| stream.pieces(0, delta));
        events.map(parsed).collect()
    };
    (whole, deltas(form, pieces, reason).into_iter().map(of_piece).collect())
}

/// A message put together as client libraries do: by the index of each call. Ids are looked at and left out.
fn joined(choices: &[Json]) -> Json {
    let (mut text, mut calls, mut ids, mut reason) = (String::new(), Vec::new(), Vec::new(), Json::Null);
    for choice in choices {
        let delta = &choice["delta"];
        text += delta["content"].as_str().unwrap_or_default();
        for part in delta["tool_calls"].as_array().into_iter().flatten() {
            let index = part["index"].as_u64().unwrap() as usize;
            if index == calls.len() {
                assert_eq!((&part["type"], &part["function"]["arguments"]), (&json!("function"), &json!("")));
                let id = part["id"].as_str().unwrap().to_owned();
                assert!(id.starts_with("call_") && !ids.contains(&id));
                ids.push(id);
                calls.push((part["function"]["name"].as_str().unwrap().to_owned(), String::new()));
            } else {
                assert_eq!(index + 1, calls.len(), "of the call that is open");
                assert_eq!(part.as_object().unwrap().keys().collect::<Vec<_>>(), ["index", "function"]);
                assert_eq!(part["function"].as_object().unwrap().len(), 1);
                calls[index].1 += part["function"]["arguments"].as_str().unwrap();
            }
        }
        if !choice["finish_reason"].is_null() {
            assert!(reason.is_null(), "told once");
            reason = choice["finish_reason"].clone();
        }
    }
    json!({"text": text, "calls": calls, "reason": reason})
}

/// The same of a whole answer.
fn of_whole(choice: &Json) -> Json {
    let message = &choice["message"];
    let calls = message["tool_calls"].as_array().into_iter().flatten();
    let mut ids: Vec<&Json> = calls.clone().map(|call| &call["id"]).collect();
    let count = ids.len();
    ids.sort_by_key(|id| id.as_str());
    ids.dedup();
    assert_eq!(ids.len(), count);
    let calls = calls.map(|call| {
        assert_eq!(call["type"], "function");
        (call["function"]["name"].clone(), call["function"]["arguments"].clone())
    });
    let calls: Vec<_> = calls.collect();
    let text = message["content"].as_str().unwrap_or_default();
    json!({"text": text, "calls": calls, "reason": choice["finish_reason"]})
}

fn check(form: CallForm, pieces: &[&str], reason: FinishReason, expected: Json) {
    let (whole, stream) = told(form, pieces, reason);
    assert_eq!(joined(&stream.concat()), expected, "{pieces:?}");
    assert_eq!(of_whole(&whole), expected, "{pieces:?}");
}

#[test]
fn two_calls_behind_text_stay_two_calls_with_their_bytes() {
    let pieces = [
        "Let me ",
        "see.<tool_",
        "call>{\"name\": \"f\", \"arg",
        "uments\": {\"x\":1}}</tool_call><tool_call>",
        "{\"name\":\"g\",\"arguments\":{\"q\":\"a\\",
        "\"b}\\",
        "n\"}}</tool",
        "_call>",
    ];
    let expected = json!({"text": "Let me see.", "reason": "tool_calls",
        "calls": [["f", "{\"x\":1}"], ["g", "{\"q\":\"a\\\"b}\\n\"}"]]});
    check(CallForm::Hermes, &pieces, FinishReason::Stop, expected.clone());
    let bytes: Vec<String> = pieces.concat().chars().map(String::from).collect();
    let single: Vec<&str> = bytes.iter().map(String::as_str).collect();
    check(CallForm::Hermes, &single, FinishReason::Stop, expected);
    // Both halves of the escape came as they were cut.
    let (_, stream) = told(CallForm::Hermes, &pieces, FinishReason::Stop);
    let arguments = |events: &[Json]| {
        let parts = events.iter().map(|it| &it["delta"]["tool_calls"][0]["function"]["arguments"]);
        parts.map(|part| part.as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(arguments(&stream[4]), ["", "{\"q\":\"a\\"]);
    assert_eq!(arguments(&stream[5]), ["\"b}\\"]);
}

#[test]
fn a_call_that_the_length_cuts_is_told_as_far_as_it_came() {
    let pieces = ["<tool_call>{\"name\": \"f\", \"arguments\": ", "{\"q\": \"a\\"];
    let expected = json!({"text": "", "calls": [["f", "{\"q\": \"a\\"]], "reason": "length"});
    check(CallForm::Hermes, &pieces, FinishReason::Length, expected);
    let before = ["{\"name\": \"f\", \"par"];
    let expected = json!({"text": before[0], "calls": [], "reason": "length"});
    check(CallForm::Json, &before, FinishReason::Length, expected);
}

#[test]
fn a_call_of_what_nobody_declared_is_a_call_in_tags_and_text_elsewhere() {
    let tagged = ["<tool_call>{\"name\": \"other\", ", "\"arguments\": {}}</tool_call>"];
    let expected = json!({"text": "", "calls": [["other", "{}"]], "reason": "tool_calls"});
    check(CallForm::Hermes, &tagged, FinishReason::Stop, expected);
    let bare = ["{\"name\": \"other\", ", "\"parameters\": {}}"];
    for form in [CallForm::Json, CallForm::Llama3] {
        let expected = json!({"text": bare.concat(), "calls": [], "reason": "stop"});
        check(form, &bare, FinishReason::Stop, expected);
    }
}

#[test]
fn text_that_is_no_call_is_held_back_only_while_it_may_become_one() {
    let pieces = ["a <", "b> <tool", "s> ", "<tool_call", "s>", " and", " { }"];
    let expected = json!({"text": pieces.concat(), "calls": [], "reason": "stop"});
    check(CallForm::Hermes, &pieces, FinishReason::Stop, expected);
    let (_, stream) = told(CallForm::Hermes, &pieces, FinishReason::Stop);
    let texts: Vec<String> =
        stream.iter().map(|events| joined(events)["text"].as_str().unwrap().to_owned()).collect();
    assert_eq!(texts, ["a ", "<b> ", "<tools> ", "", "<tool_calls>", " and", " { }", ""]);
}
