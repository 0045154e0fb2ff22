//! What cannot be enforced is refused, with its place.

use constrain::{ConstrainError, Constraint, check_schema};
use serde_json::{Value as Json, json};

use crate::common::vocabulary;

fn refusal(schema: &Json) -> ConstrainError {
    match Constraint::json_schema(&vocabulary(), schema) {
        Ok(_) => panic!("{schema} is accepted"),
        Err(error) => error,
    }
}

#[test]
fn unsupported_keywords_are_named_with_their_pointer() {
    let cases = [
        (json!({"not": {"type": "null"}}), "/not", "not"),
        (json!({"if": {}, "then": {}}), "/if", "if"),
        (json!({"properties": {"a/b": {"contains": {}}}}), "/properties/a~1b/contains", "contains"),
        (json!({"items": {"items": {"uniqueItems": true}}}), "/items/items/uniqueItems", "uniqueItems"),
        (json!({"type": "object", "propertyNames": {"maxLength": 3}}), "/propertyNames", "propertyNames"),
        (json!({"dependentRequired": {"a": ["b"]}}), "/dependentRequired", "dependentRequired"),
        (json!({"unevaluatedProperties": false}), "/unevaluatedProperties", "unevaluatedProperties"),
        (json!({"anyOf": [{}, {"type": "string", "format": "idn-email"}]}), "/anyOf/1/format", "format"),
        (json!({"type": "string", "format": "unknown"}), "/format", "format"),
        (json!({"type": "integer", "format": "int64"}), "/format", "format"),
        (json!({"pattern": "(?=x)"}), "/pattern", "pattern"),
        (json!({"pattern": "(?i)x"}), "/pattern", "pattern"),
        (json!({"pattern": "a\\b"}), "/pattern", "pattern"),
        (json!({"pattern": "[[:alpha:]]"}), "/pattern", "pattern"),
        (json!({"pattern": "[a[b]]"}), "/pattern", "pattern"),
        (json!({"pattern": "("}), "/pattern", "pattern"),
        (json!({"patternProperties": {"(?!a)": {}}}), "/patternProperties/(?!a)", "patternProperties"),
        (json!({"type": "string", "maxlength": 3}), "/maxlength", "maxlength"),
        (json!({"type": "string", "nullable": true}), "/nullable", "nullable"),
        (json!({"properties": {"a": {"$id": "x"}}}), "/properties/a/$id", "$id"),
        (json!({"$anchor": "a"}), "/$anchor", "$anchor"),
        (json!({"$schema": "https://example.org/mine"}), "/$schema", "$schema"),
        (json!({"const": 9007199254740993u64}), "/const", "const"),
        (json!({"enum": [1, "a\u{1}"]}), "/enum/1", "enum"),
        (json!({"maximum": 1e300}), "/maximum", "maximum"),
        (json!({"type": "object", "minProperties": 2}), "/minProperties", "minProperties"),
        (json!({"contentMediaType": "application/json"}), "/contentMediaType", "contentMediaType"),
        (json!({"$ref": "#/$defs/a", "$defs": {"a": {"items": {"not": {}}}}}), "/$defs/a/items/not", "not"),
        (json!({"minimum": 3, "$dynamicRef": "#a"}), "/$dynamicRef", "$dynamicRef"),
    ];
    for (schema, pointer, keyword) in cases {
        let error = refusal(&schema);
        assert_eq!((error.pointer(), error.keyword()), (Some(pointer), Some(keyword)), "{schema}: {error}");
        assert!(error.to_string().contains(pointer), "{error}");
    }
}

#[test]
fn what_is_no_schema_is_refused_with_what_was_expected() {
    let cases = [
        (json!({"type": "strnig"}), "/type", "string"),
        (json!({"type": ["string", 3]}), "/type/1", "string"),
        (json!({"type": []}), "/type", "not empty"),
        (json!({"properties": {"a": 5}}), "/properties/a", "an object or a boolean"),
        (json!({"properties": []}), "/properties", "an object"),
        (json!({"required": ["a", 1]}), "/required/1", "a string"),
        (json!({"enum": []}), "/enum", "not empty"),
        (json!({"anyOf": {}}), "/anyOf", "not empty"),
        (json!({"minLength": -1}), "/minLength", "whole number"),
        (json!({"maxItems": 1.5}), "/maxItems", "whole number"),
        (json!({"minimum": "3"}), "/minimum", "a number"),
        (json!({"multipleOf": 0}), "/multipleOf", "above 0"),
        (json!({"prefixItems": [{}], "items": [{}]}), "/items", "beside prefixItems"),
        (json!([]), "", "an object or a boolean"),
        (json!("a"), "", "an object or a boolean"),
    ];
    for (schema, pointer, expected) in cases {
        let error = refusal(&schema);
        assert!(matches!(error, ConstrainError::Invalid { .. }), "{schema}: {error}");
        assert_eq!(error.pointer(), Some(pointer), "{schema}: {error}");
        assert!(error.to_string().contains(expected), "{schema}: {error}");
    }
}

#[test]
fn references_lead_to_a_schema_in_the_same_document() {
    let cases = [
        (json!({"$ref": "#/nothing"}), "/$ref", "leads to nothing"),
        (json!({"items": {"$ref": "https://example.org/a.json"}}), "/items/$ref", "another document"),
        (json!({"$ref": "a.json#/b"}), "/$ref", "another document"),
        (json!({"$ref": "#name"}), "/$ref", "no JSON pointer"),
        (json!({"$ref": "#"}), "", "back to itself"),
        (
            json!({"$defs": {"a": {"anyOf": [{"$ref": "#/$defs/b"}]}, "b": {"allOf": [{"$ref": "#/$defs/a"}]}},
            "items": {"$ref": "#/$defs/a"}}),
            "/$defs/a",
            "back to itself",
        ),
    ];
    for (schema, pointer, why) in cases {
        let error = refusal(&schema);
        assert!(matches!(error, ConstrainError::Reference { .. }), "{schema}: {error}");
        assert_eq!(error.pointer(), Some(pointer), "{schema}: {error}");
        assert!(error.to_string().contains(why), "{schema}: {error}");
    }
}

#[test]
fn alternatives_of_one_of_that_overlap_as_they_are_written_are_refused() {
    let overlapping = [
        json!([{"type": "string"}, {"type": "string", "maxLength": 3}]),
        // A number is valid in both: formats are about strings only.
        json!([{"type": "number"}, {"format": "date"}]),
        json!([{"type": "integer"}, {"type": ["null", "number"]}]),
        json!([{"enum": ["a", "b"]}, {"const": "b"}]),
        json!([{"properties": {"a": {"const": "x"}}, "required": ["a"]}, {"properties": {"a": {"const": "y"}}, "required": ["a"]}]),
    ];
    for alternatives in overlapping {
        let error = refusal(&json!({"properties": {"a": {"oneOf": alternatives}}}));
        assert_eq!(error.pointer(), Some("/properties/a/oneOf/1"), "{alternatives}: {error}");
        assert_eq!(error.keyword(), Some("oneOf"), "{alternatives}: {error}");
    }
    let object = |kind: &str| json!({"type": "object", "properties": {"kind": {"const": kind}}, "required": ["kind"], "additionalProperties": false});
    let apart = [
        json!([{"type": "string"}, {"type": ["null", "number"]}]),
        json!([{"enum": ["a", "b"]}, {"const": "c"}]),
        json!([object("x"), object("y")]),
    ];
    for alternatives in apart {
        assert_eq!(
            check_schema(&json!({"oneOf": alternatives})).err().map(|e| e.to_string()),
            None,
            "{alternatives}"
        );
    }
}

#[test]
fn what_the_engine_refuses_has_the_place_of_its_smallest_part() {
    let unsatisfiable = refusal(&json!({"type": "string", "minLength": 3, "maxLength": 2})).to_string();
    assert_eq!(
        unsatisfiable,
        "schema at its root: Unsatisfiable schema: minLength (3) is greater than maxLength (2)"
    );
    let cases = [
        (
            json!({"properties": {"a": {"type": "object", "properties": {"b": {}}, "minProperties": 1}}}),
            "/properties/a",
        ),
        (json!({"type": "object", "patternProperties": {"a": {}, "b": {}}}), ""),
        (json!(false), ""),
        (json!({"type": "integer", "minimum": 5, "maximum": 4}), ""),
        (json!({"allOf": [{"type": "string"}, {"type": "null"}]}), ""),
    ];
    for (schema, pointer) in cases {
        let error = refusal(&schema);
        assert!(matches!(error, ConstrainError::Schema { .. }), "{schema}: {error}");
        assert_eq!(error.pointer(), Some(pointer), "{schema}: {error}");
    }
}

#[test]
fn annotations_and_extensions_change_nothing() {
    let plain = json!({"type": "integer", "minimum": 1, "maximum": 3});
    let mut noted = plain.clone();
    for name in [
        "title",
        "description",
        "$comment",
        "x-order",
        "$id",
        "examples",
        "default",
        "deprecated",
        "readOnly",
    ] {
        noted[name] = json!("a note");
    }
    noted["x-guidance"] = json!({"lenient": true, "nonsense": []});
    for schema in [plain, noted] {
        let constraint = Constraint::json_schema(&vocabulary(), &schema).unwrap();
        let mut matcher = constraint.matcher();
        assert_eq!(matcher.mask().unwrap().iter().collect::<Vec<_>>(), [49, 50, 51]);
    }
}
