//! What a grammar lets through is a call that the parser finds.

use std::sync::Arc;

use constrain::{Constraint, Vocabulary};
use serde_json::json;
use tools::{Choice, Event, Form, Parser, Tool, ToolError, grammar};

fn tools() -> Vec<Tool> {
    let weather = json!({"type": "object", "properties": {"city": {"$ref": "#/$defs/city"}, "days": {"type": "integer"}},
        "required": ["city"], "additionalProperties": false, "$defs": {"city": {"enum": ["Rome", "Oslo"]}}});
    vec![
        Tool { name: "weather".into(), parameters: Some(weather) },
        Tool {
            name: "say \"é\"".into(),
            parameters: Some(json!({"properties": {"x": {"type": "boolean"}}})),
        },
        Tool { name: "now".into(), parameters: None },
    ]
}

fn accepts(source: &str, text: &str) -> bool {
    let bytes: Vec<[u8; 1]> = (0..=255).map(|byte| [byte]).collect();
    let pieces = bytes.iter().map(|piece| Some(&piece[..])).chain([None]);
    let vocabulary = Arc::new(Vocabulary::new(pieces, &[256]).unwrap());
    let constraint = Constraint::lark(&vocabulary, source).unwrap_or_else(|e| panic!("{source}: {e}"));
    let mut matcher = constraint.matcher();
    text.bytes().try_for_each(|byte| matcher.advance(byte.into())).is_ok() && matcher.may_end().unwrap()
}

#[test]
fn a_required_call_has_a_declared_name_and_arguments_that_obey() {
    let tools = tools();
    let source = grammar(&tools, Choice::Required, Form::Hermes, false).unwrap();
    let call = |name: &str, arguments: &str| {
        format!("<tool_call>\n{{\"name\": {}, \"arguments\": {arguments}}}\n</tool_call>", json!(name))
    };
    let right = [
        call("weather", "{\"city\": \"Rome\", \"days\": 3}"),
        call("say \"é\"", "{\"x\": true}"),
        call("now", "{}"),
    ];
    for text in &right {
        assert!(accepts(&source, text), "{text}");
        let mut parser = Parser::new(Form::Hermes);
        let mut events = parser.push(text);
        events.extend(parser.finish());
        assert_eq!(events.len(), 3, "{events:?}");
        assert!(matches!(events[2], Event::CallEnd { complete: true, .. }));
    }
    let wrong = [
        call("weather", "{\"city\": \"Paris\"}"),
        call("weather", "{\"days\": 3}"),
        call("other", "{}"),
        call("now", "{\"x\": 1}"),
        call("say \"é\"", "3"),
        "I would rather not".to_owned(),
        right.join("\n"),
    ];
    for text in &wrong {
        assert!(!accepts(&source, text), "{text}");
    }
    let several = grammar(&tools, Choice::Required, Form::Hermes, true).unwrap();
    assert!(accepts(&several, &right.join("\n")));
}

#[test]
fn a_named_call_is_of_that_tool_in_the_form_of_the_model() {
    let tools = tools();
    let llama = grammar(&tools, Choice::Named("weather"), Form::Llama3, false).unwrap();
    assert!(accepts(&llama, "{\"name\": \"weather\", \"parameters\": {\"city\": \"Oslo\"}}"));
    assert!(!accepts(&llama, "{\"name\": \"now\", \"parameters\": {}}"));
    let json = grammar(&tools, Choice::Named("now"), Form::Json, false).unwrap();
    assert!(accepts(&json, "{\"name\": \"now\", \"arguments\": {}}"));
}

#[test]
fn tools_that_make_no_grammar_are_refused() {
    let tool = |name: &str, parameters| Tool { name: name.into(), parameters };
    let refusal = |tools: &[Tool], choice| grammar(tools, choice, Form::Hermes, true).unwrap_err();
    assert_eq!(refusal(&[], Choice::Required), ToolError::NoTools);
    let error = refusal(&tools(), Choice::Named("other"));
    assert!(
        matches!(&error, ToolError::Undeclared { name, declared } if name == "other" && declared.len() == 3),
        "{error}"
    );
    assert!(matches!(refusal(&[tool("", None)], Choice::Required), ToolError::Name { .. }));
    assert!(matches!(refusal(&[tool("a", None), tool("a", None)], Choice::Required), ToolError::Name { .. }));
    for wrong in [json!([]), json!(true), json!({"type": "string"})] {
        assert!(matches!(refusal(&[tool("a", Some(wrong))], Choice::Required), ToolError::Parameters { .. }));
    }
}
