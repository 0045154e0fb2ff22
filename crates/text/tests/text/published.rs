//! Published templates against the renderings of Jinja2, kept as hashes.

use std::path::Path;

use serde_json::Value;
use sha2::{Digest, Sha256};
use text::{ChatTemplate, RenderOptions};

fn sha256(text: &str) -> String {
    Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Nineteen conversations as Jinja2 renders them; a missing hash is a refusal.
fn check(name: &str, source: &str, source_sha256: &str, bos: &str, eos: &str) {
    assert_eq!(sha256(source), source_sha256, "{name} is another template");
    let template = ChatTemplate::new(source, bos, eos).unwrap();
    let conversations: Vec<Value> = serde_json::from_str(include_str!("../data/conversations.json")).unwrap();
    assert_eq!(conversations.len(), 19);
    for conversation in conversations {
        let options = RenderOptions {
            add_generation_prompt: conversation["add_generation_prompt"].as_bool().unwrap(),
            tools: Some(&conversation["tools"]).filter(|tools| !tools.is_null()),
            extra: conversation["extra"].as_object(),
            now: None,
        };
        let rendered = template.render(&conversation["messages"], &options);
        assert_eq!(
            rendered.as_deref().ok().map(sha256).as_deref(),
            conversation["sha256"][name].as_str(),
            "{name}, {}: {rendered:?}",
            conversation["name"]
        );
    }
}

#[test]
fn a_short_template_renders_as_with_jinja2() {
    check(
        "smollm2",
        include_str!("../data/smollm2.jinja"),
        "872be49dbb638044ad01b60388f48d469ff2980e5f0dccdc22ec907db54d0788",
        "<|im_start|>",
        "<|im_end|>",
    );
}

#[test]
fn templates_with_tools_render_as_with_jinja2() {
    check(
        "qwen2.5-coder",
        include_str!("../data/qwen2.5-coder.jinja"),
        "cd8e9439f0570856fd70470bf8889ebd8b5d1107207f67a5efb46e342330527f",
        "",
        "<|im_end|>",
    );
    check(
        "qwen3",
        include_str!("../data/qwen3.jinja"),
        "87a2728cb8dc9fe424d624542f6060ec05a1d285ebbec578bb078900e33396b5",
        "",
        "<|im_end|>",
    );
}

/// Their licences do not let them lie here: `MINFER_TEST_TEMPLATES` names a folder that holds them.
#[test]
fn templates_that_are_not_kept_here_render_as_with_jinja2() {
    let Ok(folder) = std::env::var("MINFER_TEST_TEMPLATES") else {
        eprintln!("skipped: MINFER_TEST_TEMPLATES names no folder with llama3.jinja and gemma3.jinja");
        return;
    };
    let read = |name: &str| std::fs::read_to_string(Path::new(&folder).join(name)).unwrap();
    check(
        "llama3",
        &read("llama3.jinja"),
        "b48c47f6443892716176eb200bf4ef108f64e06ca26ed0fa8ebc0a4b3992fcb2",
        "<|begin_of_text|>",
        "<|end_of_text|>",
    );
    check(
        "gemma3",
        &read("gemma3.jinja"),
        "7de1c58e208eda46e9c7f86397df37ec49883aeece39fb961e0a6b24088dd3c4",
        "<bos>",
        "<end_of_turn>",
    );
}
