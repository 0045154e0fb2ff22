//! The published document: it has the routes that there are, its examples are answered, and answers are as it says.

use std::collections::BTreeSet;
use std::sync::Arc;

use jsonschema::Validator;
use minfer::{EmbedOptions, Embedder, Engine, EngineOptions, SessionOptions, ThreadPool};
use serde_json::{Value as Json, json};
use server::{Server, ServerOptions};

use crate::support::{Response, Running, model, run};

/// A model that writes and makes embeddings.
fn start() -> Running {
    start_with(&[])
}

fn start_with(keys: &[&str]) -> Running {
    let model = Arc::new(model());
    let session = SessionOptions { n_ctx: 256, n_seq: 2, ..SessionOptions::default() };
    let embed = EmbedOptions { session, ..EmbedOptions::default() };
    let embedder = Embedder::new(model.clone(), Arc::new(ThreadPool::new(1)), &embed).unwrap();
    let engine = EngineOptions { session, threads: Some(1), ..EngineOptions::default() };
    let engine = Engine::new(model, &engine).unwrap();
    let api_keys = keys.iter().map(|key| (*key).to_owned()).collect();
    let options = ServerOptions { names: vec!["smollm2-135m".into()], api_keys, ..ServerOptions::default() };
    run(Server::new(engine, options).with_embeddings(embedder, 4).unwrap())
}

/// Says whether a value is as a schema of the document demands.
fn validator(document: &Json, schema: &Json) -> Validator {
    let mut schema = schema.clone();
    schema["components"] = document["components"].clone();
    jsonschema::validator_for(&schema).unwrap()
}

#[track_caller]
fn assert_valid(document: &Json, schema: &Json, value: &Json) {
    if let Err(error) = validator(document, schema).validate(value) {
        panic!("{}: {error}: {value}", error.instance_path());
    }
}

#[test]
fn the_document_has_the_routes_that_there_are() {
    let running = start();
    let document = running.get("/openapi.json").json();
    let source = include_str!("../../src/router.rs");
    let mut routes = BTreeSet::new();
    for part in source.split(".route(\"").skip(1) {
        let (path, rest) = part.split_once('"').unwrap();
        let method = rest.trim_start_matches([',', ' ', '\n']).split('(').next().unwrap();
        routes.insert((path.replace("{*", "{"), method.to_owned()));
    }
    assert!(routes.len() > 10 && routes.contains(&("/v1/models/{name}".to_owned(), "get".to_owned())));
    let documented: BTreeSet<(String, String)> = document["paths"]
        .as_object()
        .unwrap()
        .iter()
        .flat_map(|(path, it)| {
            it.as_object().unwrap().keys().map(move |method| (path.clone(), method.clone()))
        })
        .collect();
    assert_eq!(documented, routes);
}

#[test]
fn every_example_is_answered_as_the_document_says_and_nothing_in_it_is_left_out() {
    let running = start();
    let document = running.get("/openapi.json").json();
    let mut examples = 0;
    for (path, methods) in document["paths"].as_object().unwrap() {
        let Some(post) = methods.get("post") else { continue };
        let (asked, told) =
            (&post["requestBody"]["content"]["application/json"], &post["responses"]["200"]["content"]);
        for example in asked["examples"].as_object().unwrap().values() {
            let body = &example["value"];
            assert_valid(&document, &asked["schema"], body);
            let response = running.post(path, body);
            assert_eq!(
                (response.status, &response.ignored),
                (200, &None),
                "{path} {body}: {}",
                response.text
            );
            if body["stream"] == true {
                assert!(told[response.content_type.split(';').next().unwrap()].is_object());
                events(&document, path, &response);
            } else {
                assert_valid(&document, &told["application/json"]["schema"], &response.json());
            }
            examples += 1;
        }
        let refused = running.post(path, &json!({"model": 5, "content": 5, "tokens": 5}));
        assert_eq!(refused.status, 400);
        assert_valid(
            &document,
            &post["responses"]["default"]["content"]["application/json"]["schema"],
            &refused.json(),
        );
    }
    assert!(examples > 25);
}

/// The events of a stream are as the document says.
fn events(document: &Json, path: &str, response: &Response) {
    let schema = |name: &str| json!({"$ref": format!("#/components/schemas/{name}")});
    match path {
        "/v1/chat/completions" => {
            response.events().iter().for_each(|event| assert_valid(document, &schema("ChatChunk"), event));
        }
        "/v1/completions" => {
            response.events().iter().for_each(|event| assert_valid(document, &schema("Completion"), event));
        }
        _ => {
            let last = response.text.trim_end().rsplit("data: ").next().unwrap();
            let last: Json = serde_json::from_str(last).unwrap();
            assert_valid(document, &schema("Response"), &last["response"]);
        }
    }
}

#[test]
fn what_is_only_read_is_as_the_document_says() {
    let running = start();
    let document = running.get("/openapi.json").json();
    for (path, asked) in [
        ("/v1/models", "/v1/models"),
        ("/v1/models/{name}", "/v1/models/smollm2-135m"),
        ("/props", "/props"),
        ("/health", "/health"),
    ] {
        let response = running.get(asked);
        let told = &document["paths"][path]["get"]["responses"]["200"]["content"]["application/json"];
        assert_valid(&document, &told["schema"], &response.json());
    }
    for (path, methods) in document["paths"].as_object().unwrap() {
        let Some(get) = methods.get("get").filter(|_| !path.contains('{')) else { continue };
        let told = get["responses"]["200"]["content"].as_object().unwrap();
        let kind = running.get(path).content_type;
        assert!(told.contains_key(kind.split(';').next().unwrap()), "{path}: {kind}");
    }
}

#[test]
fn routes_need_a_key_where_the_document_says_so() {
    let running = start_with(&["key"]);
    let document = running.get("/openapi.json").json();
    for (path, methods) in document["paths"].as_object().unwrap() {
        for (method, told) in methods.as_object().unwrap() {
            let response = match method.as_str() {
                "get" => running.get(path),
                _ => running.post(path, &json!({})),
            };
            let is_open = told["security"] == json!([]);
            assert_eq!(response.status == 401, !is_open, "{path}: {}", response.text);
        }
    }
}
