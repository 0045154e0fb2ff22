//! Random outputs obey their schema.

use constrain::Constraint;
use serde_json::{Value as Json, json};

use crate::common::{Random, accepts, output, validator, vocabulary};

/// Outputs a schema.
const OUTPUTS: u64 = 50;

/// Tokens of an output.
const TOKENS: usize = 400;

/// From a file, which the test of the command line reads too.
fn schemas() -> Vec<Json> {
    serde_json::from_str(include_str!("schemas.json")).expect("a list of schemas")
}

#[test]
fn random_outputs_obey_their_schema() {
    let vocabulary = vocabulary();
    for (index, schema) in schemas().iter().enumerate() {
        let constraint =
            Constraint::json_schema(&vocabulary, schema).unwrap_or_else(|e| panic!("{schema}: {e}"));
        let validator = validator(schema);
        let mut finished = 0;
        for seed in 0..OUTPUTS {
            let mut random = Random(seed << 32 | index as u64);
            let out = output(&mut constraint.matcher(), &mut random, TOKENS);
            let Some(out) = out.unwrap_or_else(|e| panic!("{schema}: {e}")) else { continue };
            let text = String::from_utf8(out).unwrap_or_else(|e| panic!("{schema}: {e}"));
            let value: Json = serde_json::from_str(&text).unwrap_or_else(|e| panic!("{schema}: {text}: {e}"));
            assert!(validator.is_valid(&value), "{schema}: {text}");
            finished += 1;
        }
        assert!(finished >= OUTPUTS / 2, "{schema}: {finished} of {OUTPUTS} outputs came to an end");
    }
}

#[test]
fn schemas_let_through_what_people_would_write() {
    let cases = [
        (json!({"type": "object"}), r#"{"a": [1, -2.5, {"b": "é\n"}], "c": null}"#),
        (json!({"type": "object"}), "{\n  \"a\": 1,\n  \"b\": [\n    true\n  ]\n}"),
        (json!({"type": "number"}), "-120.25"),
        (json!({"type": "number"}), "0"),
        (json!({"type": "integer", "minimum": -5}), "-5"),
        (json!({"type": "string", "format": "date-time"}), "\"2024-02-29T23:59:59.5+02:00\""),
        (json!({"type": "string", "format": "date"}), "\"2000-02-29\""),
        (json!({"type": "string", "format": "email"}), "\"jo.doe@mail.example.org\""),
        (json!({"type": "string", "format": "uri"}), "\"https://example.org:80/a/b?c=d#e\""),
        (json!({"type": "string", "format": "ipv6"}), "\"2001:db8::1\""),
        (json!({"type": "string", "pattern": "^\\d{3}-\\d{4}$"}), "\"555-0199\""),
        (json!({"enum": ["gr\"een", 3, null]}), r#""gr\"een""#),
        (json!({"type": "object", "properties": {"a": {"type": "string"}}}), r#"{"a":"x","z":[{}]}"#),
    ];
    for (schema, text) in cases {
        let constraint = Constraint::json_schema(&vocabulary(), &schema).unwrap();
        assert!(accepts(&constraint, text), "{schema}: {text}");
    }
}

#[test]
fn schemas_keep_out_what_breaks_them() {
    let cases = [
        // A second spelling of a name would get around its schema.
        (
            json!({"properties": {"a": {"type": "integer"}}, "additionalProperties": {"type": "string"}}),
            r#"{"\u0061":"x"}"#,
        ),
        (json!({"type": "object"}), r#"{"a":1e999}"#),
        (json!({"type": "object"}), "{\"a\":        1}"),
        (json!({"type": "string", "format": "date"}), "\"2023-02-29\""),
        (json!({"type": "string", "format": "date"}), "\"1900-02-29\""),
        (json!({"type": "string", "format": "time"}), "\"23:59:60Z\""),
        (json!({"type": "string", "pattern": "^.$"}), "\"\u{2028}\""),
        (json!({"type": "string", "pattern": "^\\d$"}), "\"٣\""),
        (json!({"type": "string", "pattern": "^\\W$"}), "\"é\""),
        // A number that is neither a letter nor a digit: part of a word for some.
        (json!({"type": "string", "pattern": "^\\W$"}), "\"½\""),
        (json!({"type": "array", "items": {"type": "number", "allOf": [{}]}}), "[1E1067]"),
        (json!({"type": "integer"}), "1.0"),
        (json!({"const": 5}), "6"),
        (json!({"required": ["b"], "properties": {"a": {}}}), r#"{"a":1}"#),
        (json!({"$schema": "http://json-schema.org/draft-04/schema#", "const": 5}), "6"),
        (json!({"anyOf": [{}], "exclusiveMinimum": true, "type": "integer", "minimum": 3}), "3"),
        (json!({"exclusiveMinimum": true, "anyOf": [{"type": "integer"}], "minimum": 3}), "3"),
    ];
    for (schema, text) in cases {
        let constraint =
            Constraint::json_schema(&vocabulary(), &schema).unwrap_or_else(|e| panic!("{schema}: {e}"));
        assert!(!accepts(&constraint, text), "{schema}: {text}");
    }
}

#[test]
fn bounds_hold_however_a_number_is_written() {
    let lows = ["minimum", "exclusiveMinimum"];
    let highs = ["maximum", "exclusiveMaximum"];
    let values: [Json; 10] = ["0", "-0.5", "-2", "-2.25", "0.125", "0.5", "2", "2.25", "10", "5000000"]
        .map(|value| serde_json::from_str(value).unwrap());
    // Each with further zeros, of either sign, and its neighbours.
    let mut texts =
        vec!["0.1".to_owned(), "-0.1".into(), "2.1".into(), "-2.1".into(), "3".into(), "4999999.5".into()];
    for value in &values {
        let value = value.to_string();
        let text = value.trim_start_matches('-');
        let zeros = if text.contains('.') { ["", "0", "00"] } else { ["", ".0", ".00"] };
        texts.extend(zeros.iter().flat_map(|zeros| [format!("{text}{zeros}"), format!("-{text}{zeros}")]));
    }
    let mut accepted = 0;
    for kind in ["number", "integer"] {
        for (low, high) in lows.iter().flat_map(|low| highs.iter().map(move |high| (*low, *high))) {
            for (from, to) in values.iter().flat_map(|from| values.iter().map(move |to| (from, to))) {
                let together = json!({"type": kind, low: from, high: to});
                let apart = json!({"type": kind, "allOf": [{low: from}, {high: to}]});
                for schema in [together, apart] {
                    let Ok(constraint) = Constraint::json_schema(&vocabulary(), &schema) else { continue };
                    let validator = validator(&schema);
                    for text in texts.iter().filter(|text| accepts(&constraint, text)) {
                        let value: Json = serde_json::from_str(text).unwrap();
                        assert!(validator.is_valid(&value), "{schema}: {text}");
                        accepted += 1;
                    }
                }
            }
        }
    }
    assert!(accepted > 1000, "{accepted}");
}
