//! Nothing that is asked for ends the process or takes for ever.

use std::cell::Cell;
use std::time::{Duration, Instant};

use arbtest::arbitrary::Unstructured;
use constrain::{ConstrainError, Constraint};
use serde_json::{Value as Json, json};

use crate::common::{Random, output, validator, vocabulary};

/// Far above what any of these takes, on a busy machine too.
const PATIENCE: Duration = Duration::from_secs(180);

fn survives(constraint: Result<Constraint, ConstrainError>) {
    if let Ok(constraint) = constraint {
        for seed in 0..2 {
            // A mask that is too much work is an error; that it comes is what is tested.
            let _ = output(&mut constraint.matcher(), &mut Random(seed), 30);
        }
    }
}

fn timed(what: &str, work: impl FnOnce() -> Result<Constraint, ConstrainError>) {
    let started = Instant::now();
    survives(work());
    assert!(started.elapsed() < PATIENCE, "{what}: {:?}", started.elapsed());
}

#[test]
fn hostile_schemas_are_answered() {
    let vocabulary = vocabulary();
    let nested = |levels: usize, wrap: &dyn Fn(Json) -> Json| {
        (0..levels).fold(json!({"type": "null"}), |inner, _| wrap(inner))
    };
    let many = |n: usize, one: &dyn Fn(usize) -> Json| (0..n).map(one).collect::<Vec<_>>();
    let product = many(
        12,
        &|i| json!({"anyOf": many(12, &|j| json!({"properties": {format!("p{i}"): {"const": j}}}))}),
    );
    let schemas = [
        ("items in items", nested(40, &|inner| json!({"items": inner}))),
        ("deeper than allowed", nested(400, &|inner| json!({"items": inner}))),
        ("very deep", nested(1_000, &|inner| json!({"not": inner}))),
        ("anyOf in anyOf", nested(40, &|inner| json!({"anyOf": [inner, {"items": {}}]}))),
        ("allOf of anyOf", json!({"allOf": product})),
        (
            "a product of references",
            json!({"$defs": {"a": {"anyOf": [{"items": {"$ref": "#/$defs/a"}}, {"allOf": [{"items": {"$ref": "#/$defs/a"}}]}]}},
            "allOf": many(6, &|_| json!({"items": {"$ref": "#/$defs/a"}}))}),
        ),
        (
            "tree and tree",
            json!({"allOf": [{"$ref": "#/$defs/a"}, {"$ref": "#/$defs/b"}], "$defs": {
            "a": {"type": "object", "properties": {"child": {"$ref": "#/$defs/a"}}},
            "b": {"type": "object", "properties": {"child": {"$ref": "#/$defs/b"}}}}}),
        ),
        ("never ends", json!({"type": "object", "properties": {"a": {"$ref": "#"}}, "required": ["a"]})),
        ("long texts", json!({"type": "string", "minLength": 1_000_000_000})),
        ("longer texts", json!({"type": "string", "maxLength": 4_294_967_295u64})),
        (
            "many items",
            json!({"type": "array", "items": {"type": "string", "maxLength": 3}, "minItems": 100_000_000}),
        ),
        ("many names", json!({"type": "object", "maxProperties": 1_000_000_000})),
        ("an expensive pattern", json!({"type": "string", "pattern": "^(a|b)*a(a|b){60}$"})),
        ("repeats of repeats", json!({"type": "string", "pattern": "^((((a{100}){100}){100}){100}){100}$"})),
        (
            "patterns that are joined",
            json!({"type": "string", "allOf": many(8, &|i| json!({"pattern": format!("x.{{{i}0,}}y")}))}),
        ),
        (
            "multiples",
            json!({"type": "integer", "multipleOf": 999_983, "minimum": 1, "maximum": 999_983_000}),
        ),
        (
            "many properties",
            json!({"type": "object", "properties":
            (0..3000).map(|i| (format!("p{i}"), json!({"type": "integer"}))).collect::<serde_json::Map<_, _>>()}),
        ),
        ("many names to choose from", json!({"enum": many(5000, &|i| json!(format!("name {i}")))})),
        ("a long name", json!({"properties": {"a".repeat(2_000_000): {}}})),
        ("too many values", json!({"enum": many(30_000, &|i| json!(i))})),
        (
            "references into references",
            json!({"$defs": {"a": {"$ref": "#/$defs/a/$defs/a"}}, "$ref": "#/$defs/a"}),
        ),
    ];
    for (what, schema) in &schemas {
        timed(what, || Constraint::json_schema(&vocabulary, schema));
    }
}

#[test]
fn hostile_expressions_and_grammars_are_answered() {
    let vocabulary = vocabulary();
    let expressions = [
        "(".repeat(5000) + &")".repeat(5000),
        "a{1000}{1000}{1000}".to_owned(),
        "(a|b)*a(a|b){200}".to_owned(),
        "(\\w+\\s?)*\\p{L}{500}".to_owned(),
        "a|".repeat(8000),
        "(?i)".to_owned() + &"é".repeat(4000),
        "x".repeat(100_000),
        "\\p{Greek}{0,10000}[^\\p{L}]{0,10000}".to_owned(),
    ];
    for pattern in &expressions {
        timed(&pattern[..pattern.len().min(40)], || Constraint::regex(&vocabulary, pattern));
    }
    let chain: String = (0..5000).map(|i| format!("r{i}: r{} \"a\"\n", i + 1)).collect();
    let chain_of_terminals: String = (0..5000).map(|i| format!("R{i}: R{} \"a\"\n", i + 1)).collect();
    let doubling: String = (0..60).map(|i| format!("R{i}: R{0} R{0}\n", i + 1)).collect();
    let grammars = [
        format!("start: {}\"a\"{}", "(".repeat(60), ")".repeat(60)),
        format!("start: {}\"a\"{}", "(".repeat(60_000), ")".repeat(60_000)),
        format!("start: r0\n{chain}r5000: \"b\"\n"),
        format!("start: R0\n{chain_of_terminals}R5000: \"b\"\n"),
        format!("start: R0\n{doubling}R60: \"b\"\n"),
        "start: start start | \"a\" |".to_owned(),
        "start: x\nx: x".to_owned(),
        "start: start".to_owned(),
        "start: \"a\"~1..1000000000".to_owned(),
        format!("start: {}", "\"a\" | ".repeat(20_000) + "\"b\""),
        "start: \"\\".to_owned(),
        "%llguidance {\"allow_invalid_utf8\": true}\nstart: /(?s:.)*/".to_owned(),
        "start: %regex {\"substring_words\": \"a b c\"}".to_owned(),
        "x".repeat(1_000_000),
    ];
    for grammar in &grammars {
        timed(&grammar[..grammar.len().min(40)], || Constraint::lark(&vocabulary, grammar));
    }
}

#[test]
fn random_schemas_are_enforced_or_refused() {
    let vocabulary = vocabulary();
    let checked = Cell::new(0);
    arbtest::arbtest(|u| {
        let schema = random_schema(u, 3)?;
        if let Ok(constraint) = Constraint::json_schema(&vocabulary, &schema) {
            let validator = validator(&schema);
            for seed in 0..3 {
                if let Ok(Some(out)) = output(&mut constraint.matcher(), &mut Random(seed), 60) {
                    let value: Json = serde_json::from_slice(&out)
                        .unwrap_or_else(|e| panic!("{schema}: {}: {e}", String::from_utf8_lossy(&out)));
                    assert!(validator.is_valid(&value), "{schema}: {value}");
                    checked.set(checked.get() + 1);
                }
            }
        }
        Ok(())
    })
    .budget_ms(5_000);
    assert!(checked.get() > 20, "only {} outputs were there to check", checked.get());
}

#[test]
fn random_text_is_no_reason_to_panic() {
    let vocabulary = vocabulary();
    arbtest::arbtest(|u| {
        let alphabet = [
            "start", ":", " ", "\"a\"", "/", "(", ")", "[", "]", "|", "*", "+", "?", "\n", "%json", "{", "}",
            "~1", "R", "\\", "^", "&", "<", ">", "-", "$", "i",
        ];
        let text: String = (0..u.int_in_range(0..=20)?)
            .map(|_| Ok(*u.choose(&alphabet)?))
            .collect::<Result<_, arbtest::arbitrary::Error>>()?;
        survives(Constraint::lark(&vocabulary, &text));
        survives(Constraint::lark(&vocabulary, &format!("start: {text}")));
        survives(Constraint::regex(&vocabulary, &text));
        Ok(())
    })
    .budget_ms(4_000);
}

type Random1<T> = Result<T, arbtest::arbitrary::Error>;

/// Schemas out of what schemas are made of, right and wrong.
fn random_schema(u: &mut Unstructured, depth: usize) -> Random1<Json> {
    if depth == 0 || u.ratio(1, 12)? {
        return Ok(u
            .choose(&[
                json!({"type": "integer"}),
                json!({"type": "string"}),
                json!(true),
                json!({}),
                json!({"type": "null"}),
                json!(false),
            ])?
            .clone());
    }
    let mut schema = serde_json::Map::new();
    if u.ratio(3, 4)? {
        let types = [
            json!("object"),
            json!("array"),
            json!("string"),
            json!("integer"),
            json!("number"),
            json!(["string", "null"]),
            json!("boolean"),
        ];
        schema.insert("type".into(), u.choose(&types)?.clone());
    }
    for _ in 0..u.int_in_range(0..=4)? {
        let keywords = [
            "properties",
            "required",
            "additionalProperties",
            "patternProperties",
            "minProperties",
            "maxProperties",
            "items",
            "prefixItems",
            "minItems",
            "maxItems",
            "minLength",
            "maxLength",
            "pattern",
            "format",
            "minimum",
            "maximum",
            "exclusiveMinimum",
            "exclusiveMaximum",
            "multipleOf",
            "enum",
            "const",
            "anyOf",
            "oneOf",
            "allOf",
            "$ref",
        ];
        let keyword = *u.choose(&keywords)?;
        let value = match keyword {
            "properties" | "patternProperties" => {
                let mut members = serde_json::Map::new();
                for _ in 0..u.int_in_range(0..=3)? {
                    members
                        .insert(u.choose(&["a", "b", "^c", "d$"])?.to_string(), random_schema(u, depth - 1)?);
                }
                Json::Object(members)
            }
            "required" => json!([u.choose(&["a", "b", "z"])?]),
            "additionalProperties" | "items" => random_schema(u, depth - 1)?,
            "prefixItems" | "anyOf" | "oneOf" | "allOf" => {
                json!(
                    (0..u.int_in_range(1..=2)?)
                        .map(|_| random_schema(u, depth - 1))
                        .collect::<Random1<Vec<_>>>()?
                )
            }
            "pattern" => json!(u.choose(&["^a", "b$", "\\d+", "^[xy]{2,3}$", "a|b"])?),
            "format" => json!(u.choose(&["date", "uuid", "email", "ipv4"])?),
            "multipleOf" => u.choose(&[json!(2), json!(0.5), json!(0.1), json!(3)])?.clone(),
            "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" => u
                .choose(&[json!(0), json!(-3), json!(2.5), json!(10), json!(-0.125), json!(1234567)])?
                .clone(),
            "enum" => {
                u.choose(&[json!([1, "a"]), json!([null, {"a": 1}]), json!([[1], 2.5, "\"é"])])?.clone()
            }
            "const" => u.choose(&[json!(1), json!("a\\b"), json!({"a": [true]}), json!([])])?.clone(),
            "$ref" => json!(u.choose(&["#", "#/properties/a", "#/anyOf/0", "#/items"])?),
            _ => json!(u.int_in_range(0..=4)?),
        };
        schema.insert(keyword.into(), value);
    }
    Ok(Json::Object(schema))
}
