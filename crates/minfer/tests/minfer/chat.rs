//! Chats to tokens.

use minfer::{Model, RenderOptions};
use serde_json::json;

use crate::common::file;

#[test]
fn tools_variables_and_further_fields_of_messages_reach_the_template() {
    let source =
        "{{ tools[0].name }}|{{ messages[0].reasoning_content }}|{{ mood }}|{{ add_generation_prompt }}";
    let model = Model::from_file(file("qwen2", "micro", "F32")).unwrap().with_chat_template(source).unwrap();
    let messages = json!([{"role": "assistant", "content": "c", "reasoning_content": "why"}]);
    let (tools, extra) = (json!([{"name": "find"}]), json!({"mood": "calm"}));
    let options = RenderOptions {
        add_generation_prompt: true,
        tools: Some(&tools),
        extra: extra.as_object(),
        ..RenderOptions::default()
    };
    let tokens = model.tokenize_chat(&messages, &options).unwrap();
    assert_eq!(model.tokenizer().decode(&tokens, true), "find|why|calm|True");
}

#[test]
fn a_template_that_does_not_parse_is_refused_with_its_line() {
    let model = Model::from_file(file("qwen2", "micro", "F32")).unwrap();
    let error = model.with_chat_template("fine\n{% for m in messages %}").map(drop).unwrap_err();
    assert!(error.to_string().contains("line 2"), "{error}");
}
