//! The grammar of an answer that must call a tool.

use serde_json::{Value as Json, json};

use crate::Form;

/// A tool that may be called.
#[derive(Debug, Clone, PartialEq)]
pub struct Tool {
    /// Its name.
    pub name: String,
    /// The JSON schema of its arguments, an object; none: it takes no arguments.
    pub parameters: Option<Json>,
}

/// What must be called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Choice<'a> {
    /// One of the tools.
    Required,
    /// This one.
    Named(&'a str),
}

/// Why there is no grammar.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ToolError {
    /// No tool to call.
    #[error("a tool must be called, and none is declared")]
    NoTools,
    /// The tool that must be called is not there.
    #[error("the tool {name:?} must be called, and the declared ones are {declared:?}")]
    Undeclared {
        /// Its name.
        name: String,
        /// The tools that there are.
        declared: Vec<String>,
    },
    /// Two tools of one name, or one without.
    #[error("the tool {name:?} is declared twice or has no name")]
    Name {
        /// The name.
        name: String,
    },
    /// Parameters that are no schema of an object.
    #[error("the tool {name:?}: expected parameters that are a schema of an object, found {found}")]
    Parameters {
        /// The tool.
        name: String,
        /// What there is.
        found: String,
    },
}

/// The grammar, in Lark's notation, of an answer that calls a tool in a model's form, or several tools one after the other
/// with `several`. Arguments obey the tool's schema: it is there as `%json`, so that what compiles the grammar enforces
/// or refuses it.
pub fn grammar(tools: &[Tool], choice: Choice, form: Form, several: bool) -> Result<String, ToolError> {
    check_names(tools)?;
    let chosen: Vec<&Tool> = match choice {
        Choice::Required => tools.iter().collect(),
        Choice::Named(name) => tools.iter().filter(|tool| tool.name == name).collect(),
    };
    if chosen.is_empty() {
        return Err(match choice {
            Choice::Required => ToolError::NoTools,
            Choice::Named(name) => ToolError::Undeclared {
                name: name.to_owned(),
                declared: tools.iter().map(|tool| tool.name.clone()).collect(),
            },
        });
    }
    let mut rules = String::new();
    rules.push_str(if several { "start: call (\"\\n\" call)*\n" } else { "start: call\n" });
    // A control token is not text: only tags that vocabularies have as text are written.
    rules.push_str(match form {
        Form::Hermes => "call: \"<tool_call>\\n\" body \"\\n</tool_call>\"\n",
        Form::Llama3 | Form::Json => "call: body\n",
    });
    let bodies: Vec<String> = (0..chosen.len()).map(|i| format!("body_{i}")).collect();
    rules.push_str(&format!("body: {}\n", bodies.join(" | ")));
    for (i, tool) in chosen.into_iter().enumerate() {
        let head = format!("{{\"name\": {}, \"{}\": ", json!(tool.name), form.arguments_key());
        rules.push_str(&format!("body_{i}: {} arguments_{i} \"}}\"\n", json!(head)));
        rules.push_str(&format!("arguments_{i}: %json {}\n", arguments(tool)?));
    }
    Ok(rules)
}

fn check_names(tools: &[Tool]) -> Result<(), ToolError> {
    let mut names: Vec<&str> = tools.iter().map(|tool| tool.name.as_str()).collect();
    names.sort_unstable();
    let twice = names.windows(2).find(|pair| pair[0] == pair[1]).map(|pair| pair[0]);
    match twice.or(names.first().copied().filter(|name| name.is_empty())) {
        Some(name) => Err(ToolError::Name { name: name.to_owned() }),
        None => Ok(()),
    }
}

/// The schema of a tool's arguments, which are an object whether or not it says so.
fn arguments(tool: &Tool) -> Result<Json, ToolError> {
    let Some(parameters) = &tool.parameters else {
        return Ok(json!({"type": "object", "properties": {}, "additionalProperties": false}));
    };
    let mut schema = parameters.clone();
    let wrong = || ToolError::Parameters {
        name: tool.name.clone(),
        found: parameters.to_string().chars().take(80).collect(),
    };
    let members = schema.as_object_mut().ok_or_else(wrong)?;
    let may_be_object = |types: &Json| {
        types == "object" || types.as_array().is_some_and(|all| all.contains(&json!("object")))
    };
    match members.get("type") {
        Some(types) if !may_be_object(types) => Err(wrong()),
        _ => {
            members.insert("type".to_owned(), json!("object"));
            Ok(schema)
        }
    }
}
