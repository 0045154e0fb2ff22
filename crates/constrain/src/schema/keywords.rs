//! What is known of the keywords of JSON Schema.

/// What a keyword does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Keyword {
    /// Says something to people; values are as they are.
    Annotation,
    /// Holds schemas that references lead to.
    Definitions,
    /// Says which values of one type are right.
    Of(Type),
    /// A schema, or several, for the same value; or the values themselves.
    InPlace,
    /// `type`.
    Type,
    /// `$schema`.
    Dialect,
    /// `$id`, `id`.
    Identifier,
    /// Known, and not enforced.
    Refused(&'static str),
}

/// A type that keywords are for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Type {
    Number,
    String,
    Array,
    Object,
}

impl Type {
    pub(super) fn name(self) -> &'static str {
        match self {
            Type::Number => "number",
            Type::String => "string",
            Type::Array => "array",
            Type::Object => "object",
        }
    }
}

/// All values of `type`.
pub(super) const TYPES: [&str; 7] = ["null", "boolean", "integer", "number", "string", "array", "object"];

/// The dialects whose keywords these are.
pub(super) const DIALECTS: [&str; 5] = [
    "://json-schema.org/draft/2020-12/schema",
    "://json-schema.org/draft/2019-09/schema",
    "://json-schema.org/draft-07/schema",
    "://json-schema.org/draft-06/schema",
    "://json-schema.org/draft-04/schema",
];

const NO_GRAMMAR: &str = "no grammar says so";
const NO_SCOPE: &str = "only references by JSON pointer (#/...) are followed";
const NO_CONTENT: &str = "the content of texts is not looked into";

/// What a keyword does. One that no one knows is refused too: it may be a misspelled one.
pub(super) fn keyword(name: &str) -> Keyword {
    use Keyword::{Annotation, Definitions, Dialect, Identifier, InPlace, Of, Refused};
    match name {
        "title" | "description" | "default" | "example" | "examples" | "deprecated" | "readOnly"
        | "writeOnly" | "$comment" => Annotation,
        "$defs" | "definitions" => Definitions,
        "$schema" => Dialect,
        "$id" | "id" => Identifier,
        "type" => Keyword::Type,
        "$ref" | "allOf" | "anyOf" | "oneOf" | "const" | "enum" => InPlace,
        "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" | "multipleOf" => Of(Type::Number),
        "minLength" | "maxLength" | "pattern" | "format" => Of(Type::String),
        "items" | "prefixItems" | "additionalItems" | "minItems" | "maxItems" | "uniqueItems" => {
            Of(Type::Array)
        }
        "properties"
        | "patternProperties"
        | "additionalProperties"
        | "required"
        | "minProperties"
        | "maxProperties" => Of(Type::Object),
        "not"
        | "if"
        | "then"
        | "else"
        | "contains"
        | "minContains"
        | "maxContains"
        | "propertyNames"
        | "dependencies"
        | "dependentRequired"
        | "dependentSchemas"
        | "unevaluatedItems"
        | "unevaluatedProperties" => Refused(NO_GRAMMAR),
        "$anchor" | "$dynamicRef" | "$dynamicAnchor" | "$recursiveRef" | "$recursiveAnchor"
        | "$vocabulary" => Refused(NO_SCOPE),
        "contentMediaType" | "contentEncoding" | "contentSchema" => Refused(NO_CONTENT),
        _ if name.starts_with("x-") => Annotation,
        _ => Refused("the keyword is not known (extensions begin with x-)"),
    }
}
