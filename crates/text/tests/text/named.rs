//! Templates by name.

use serde_json::json;
use text::{ChatTemplate, RenderOptions, named_template, template_names};

fn render(name: &str) -> String {
    let messages = json!([
        {"role": "system", "content": "S"},
        {"role": "user", "content": "U"},
        {"role": "assistant", "content": "A"},
        {"role": "user", "content": "V"},
    ]);
    let template = ChatTemplate::new(named_template(name).unwrap(), "<b>", "<e>").unwrap();
    let options = RenderOptions { add_generation_prompt: true, ..RenderOptions::default() };
    template.render(&messages, &options).unwrap()
}

#[test]
fn named_templates_write_the_turns_of_their_families() {
    let chatml = "<|im_start|>system\nS<|im_end|>\n<|im_start|>user\nU<|im_end|>\n\
        <|im_start|>assistant\nA<|im_end|>\n<|im_start|>user\nV<|im_end|>\n<|im_start|>assistant\n";
    assert_eq!(render("chatml"), chatml);
    let gemma = "<b><start_of_turn>user\nS\n\nU<end_of_turn>\n<start_of_turn>model\nA<end_of_turn>\n\
        <start_of_turn>user\nV<end_of_turn>\n<start_of_turn>model\n";
    assert_eq!(render("gemma"), gemma);
    let header = |role: &str| format!("<|start_header_id|>{role}<|end_header_id|>\n\n");
    let turns = [("system", "S"), ("user", "U"), ("assistant", "A"), ("user", "V")];
    let turns: String = turns.iter().map(|(r, c)| format!("{}{c}<|eot_id|>", header(r))).collect();
    assert_eq!(render("llama3"), format!("<b>{turns}{}", header("assistant")));
    let phi3 = "<|system|>\nS<|end|>\n<|user|>\nU<|end|>\n<|assistant|>\nA<|end|>\n<|user|>\nV<|end|>\n<|assistant|>\n";
    assert_eq!(render("phi3"), phi3);
}

#[test]
fn every_name_has_a_template_and_others_have_none() {
    assert_eq!(template_names().count(), 4);
    assert!(template_names().all(|name| named_template(name).is_some()));
    assert_eq!(named_template("nope"), None);
}
