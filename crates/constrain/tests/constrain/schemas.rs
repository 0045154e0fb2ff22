//! Random outputs obey their schema.

use constrain::Constraint;
use serde_json::{Value as Json, json};

use crate::common::{Random, accepts, output, validator, vocabulary};

/// Outputs a schema.
const OUTPUTS: u64 = 50;

/// Tokens of an output.
const TOKENS: usize = 400;

fn schemas() -> Vec<Json> {
    vec![
        json!({"type": "object", "properties": {"name": {"type": "string"}, "age": {"type": "integer"}},
            "required": ["name", "age"], "additionalProperties": false}),
        json!({"$ref": "#/$defs/Color", "$defs": {"Color": {"enum": ["red", "gr\"een", 3, null, "é", "\\u00e9", "a\nb"]}}}),
        json!({"type": "object", "properties": {"v": {"type": "integer"}, "children": {"type": "array",
            "items": {"$ref": "#"}, "maxItems": 2}}, "required": ["v"], "additionalProperties": false}),
        json!({"anyOf": [{"type": "object", "properties": {"kind": {"const": "cat"}, "n": {"type": "integer"}}, "required": ["kind"]},
            {"type": "object", "properties": {"kind": {"const": "car"}, "s": {"type": "string"}}, "required": ["kind"]}]}),
        json!({"type": "object", "properties": {"job": {"type": "object", "properties": {"tag":
            {"type": "string", "pattern": "^[b-y]*z$", "maxLength": 2000}}, "required": ["tag"]}}, "required": ["job"]}),
        json!({"type": "string", "pattern": "\\S"}),
        json!({"type": "string", "pattern": "^a{2,5}\\d?$"}),
        json!({"const": {"a": [1, "é", {"b": null}], "c": 0.5}}),
        json!({"type": "object", "properties": {"a": {"type": "integer"}}, "additionalProperties": {"type": "string"}}),
        json!({"type": "array", "items": {"type": "boolean"}, "minItems": 2, "maxItems": 4}),
        json!({"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "string"}}, "required": ["b", "a"]}),
        json!({"type": "integer", "minimum": -5}),
        json!({"type": "integer", "minimum": -5, "exclusiveMaximum": 17}),
        json!({"type": "string", "format": "date-time"}),
        json!({"type": "string", "format": "date"}),
        json!({"type": "string", "format": "time"}),
        json!({"type": "string", "format": "email"}),
        json!({"type": "string", "format": "uri"}),
        json!({"type": "string", "format": "uuid"}),
        json!({"type": "string", "format": "ipv4"}),
        json!({"type": "string", "format": "ipv6"}),
        json!({"type": "string", "format": "hostname"}),
        json!({"type": "string", "format": "duration"}),
        json!({"type": "string", "minLength": 3, "maxLength": 5}),
        json!({"type": "number", "minimum": -0.5, "maximum": 12.25}),
        json!({"type": "number"}),
        json!({"type": ["string", "null", "number"]}),
        json!({"items": {"type": "number", "pattern": "^[xy]{2,3}$", "format": "ipv4"}, "minItems": 4}),
        json!({"type": "array", "items": {"type": "number", "allOf": [{}]}, "minItems": 20}),
        json!({"type": ["string", "number"], "pattern": "^[xy]{2,3}$", "format": "uuid"}),
        json!({"type": "integer", "multipleOf": 7}),
        json!({"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer"}], "items": false, "minItems": 2}),
        json!({"$schema": "http://json-schema.org/draft-07/schema#", "type": "array",
            "items": [{"type": "string"}, {"type": "integer"}], "additionalItems": {"type": "null"}, "minItems": 1}),
        json!({"$schema": "http://json-schema.org/draft-04/schema#", "type": "integer", "minimum": 3,
            "exclusiveMinimum": true, "maximum": 9}),
        json!({"allOf": [{"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]},
            {"type": "object", "properties": {"b": {"type": "boolean"}}, "required": ["b"]}]}),
        json!({"oneOf": [{"type": "string"}, {"type": "integer"}, {"type": "array", "items": {"type": "null"}}]}),
        json!({"type": "object", "patternProperties": {"^x_": {"type": "integer"}}, "additionalProperties": false}),
        json!({"type": "object", "patternProperties": {"^x": {"minimum": 3}}, "properties": {"xy": {"type": "integer"}, "q": {"type": "null"}},
            "required": ["xy"], "additionalProperties": {"type": "string", "maxLength": 4}}),
        json!({"type": "object", "required": ["a"], "minProperties": 2, "maxProperties": 3}),
        json!({"type": "object"}),
        json!({"type": "array"}),
        json!({}),
        json!(true),
        json!({"type": "string", "pattern": "^\\w+\\s\\W[^\\d]\\D.$"}),
        json!({"type": "string", "format": "date", "pattern": "^20", "description": "of this century"}),
        json!({"$ref": "#/definitions/a~1b%25", "definitions": {"a/b%": {"type": "string", "maxLength": 2}}}),
        json!({"properties": {"a": {"type": "integer"}}, "required": ["a"]}),
        json!({"type": "object", "properties": {"a": {"enum": [1, 2.5, -0.125, 1e3, true]}}, "required": ["a"], "anyOf": [{"required": ["a"]}],
            "additionalProperties": false}),
        json!({"patternProperties": {"^p": {"type": "integer"}}, "anyOf": [{"required": ["q"]}, {"required": ["r"]}],
            "additionalProperties": {"type": "boolean"}, "type": "object"}),
    ]
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
