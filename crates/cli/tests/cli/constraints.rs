//! Answers in JSON of a schema, in the language of a grammar, of a regular expression.

use serde_json::{Value as Json, json};

use crate::support::{file, json, micro, minfer, tiny};

fn answer(options: &[&str]) -> Json {
    json(&[&["run", tiny(), "hi", "--temp", "2", "--seed", "5", "-n", "60", "--json"], options].concat())
}

#[test]
fn answers_have_the_form_that_was_asked_for() {
    let schema = r#"{"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"], "additionalProperties": false}"#;
    let (_folder, path) = file("schema.json", schema.as_bytes());
    for flags in [["-j", schema], ["--json-schema", &path], ["-jf", &path], ["--json-schema-file", &path]] {
        let out = answer(&flags);
        assert_eq!(out["finish_reason"], "stop");
        let value: Json = serde_json::from_str(out["text"].as_str().unwrap()).unwrap();
        assert!(value["ok"].is_boolean() && value.as_object().unwrap().len() == 1, "{value}");
    }
    let text = |flags: &[&str]| answer(flags)["text"].as_str().unwrap().to_owned();
    assert!(["yes", "no"].contains(&text(&["--regex", "yes|no"]).as_str()));
    assert_eq!(text(&["--regex", "-v{3}"]), "-vvv");
    let (_folder, path) = file("grammar.lark", b"start: \"(\" DIGIT \")\"\nDIGIT: /[0-9]/\n");
    let said = text(&["--grammar-file", &path]);
    assert!(said.starts_with('(') && said.ends_with(')') && said.len() == 3, "{said}");
}

#[test]
fn an_answer_that_is_cut_off_says_so() {
    let options = ["run", tiny(), "hi", "--seed", "5", "-n", "3", "--regex", "[a-c]{40}"];
    let ran = minfer(&options).expect(0);
    assert!(ran.err.contains("cut off after 3 tokens"), "{}", ran.err);
    assert_eq!(json(&[&options[..], &["--json"]].concat())["finish_reason"], "length");
}

#[test]
fn what_cannot_be_enforced_is_refused_with_its_place() {
    let run = |flags: &[&str]| minfer(&[&["run", micro(), "hi", "-n", "2"], flags].concat());
    let schema = json!({"properties": {"a": {"not": {}}}}).to_string();
    run(&["-j", &schema]).refused(1, &["--json-schema", "/properties/a/not", "not cannot be enforced"]);
    run(&["-j", "{\"type\": \"strnig\"}"]).refused(1, &["/type", "strnig", "integer"]);
    run(&["-j", "{\"type\":"]).refused(1, &["--json-schema", "not JSON"]);
    run(&["-j", "no-such-file.json"]).refused(1, &["--json-schema", "no-such-file.json"]);
    run(&["--grammar-file", "no-such-file"]).refused(1, &["--grammar-file", "no-such-file"]);
    let (_folder, path) = file("grammar.gbnf", b"root ::= \"a\"\n");
    run(&["--grammar-file", &path]).refused(1, &["--grammar-file", "GBNF", "Lark"]);
    run(&["--regex", "a("]).refused(1, &["--regex", "character 2"]);
    run(&["--regex", "a", "-j", "{}"]).refused(2, &["--regex", "--json-schema"]);
    // Said before the model is looked for.
    minfer(&["run", "no-such-model", "hi", "-j", "{"]).refused(1, &["not JSON"]);
}
