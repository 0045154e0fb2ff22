//! Tools that an answer may call.

use minfer::{Constraint, Model};
use serde_json::{Value as Json, json};
use tools::{Choice, Form, Parser, Tool, grammar};

use crate::ApiError;
use crate::fields::{Fields, wrong};

/// What a request says of tools.
pub(crate) struct ToolUse {
    /// As templates expect them.
    pub declared: Json,
    tools: Vec<Tool>,
    must_call: Option<Wanted>,
    /// Whether there may be several calls.
    pub several: bool,
    form: Form,
}

/// Which call there must be.
enum Wanted {
    Any,
    Named(String),
}

/// How a request writes a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Style {
    /// In an object of its own, as chats do and templates expect.
    Nested,
    /// Beside its type, as responses do.
    Flat,
}

impl ToolUse {
    /// Takes the fields; none if no tool may be called.
    pub fn read(fields: &mut Fields, style: Style) -> Result<Option<ToolUse>, ApiError> {
        let (declared, tools) = match fields.take("tools") {
            None => (Vec::new(), Vec::new()),
            Some(Json::Array(list)) => {
                let one = |(index, it)| tool(index, it, style);
                list.into_iter().enumerate().map(one).collect::<Result<_, _>>()?
            }
            Some(other) => return Err(wrong("tools", "a list", &other)),
        };
        let several = fields.flag("parallel_tool_calls")?.unwrap_or(true);
        let must_call = match fields.take("tool_choice") {
            None => None,
            Some(Json::String(choice)) => match choice.as_str() {
                "none" => return Ok(None),
                "auto" => None,
                "required" => Some(Wanted::Any),
                _ => {
                    let message = format!("expected none, auto, required or an object, found {choice:?}");
                    return Err(ApiError::field("tool_choice", message));
                }
            },
            Some(choice) => Some(Wanted::Named(chosen(&choice, style)?)),
        };
        if tools.is_empty() && must_call.is_some() {
            return Err(ApiError::field("tool_choice", "a tool must be called, and none is declared"));
        }
        let declared = declared.into();
        Ok((!tools.is_empty()).then_some(ToolUse { declared, tools, must_call, several, form: Form::Json }))
    }

    /// How the model was told to write calls: `prompt` is the text of the prompt with the tools.
    pub fn learn_form(&mut self, prompt: &str, model: &Model) {
        self.form = match model.tokenizer().id_of_text("<|python_tag|>") {
            _ if prompt.contains("<tool_call>") => Form::Hermes,
            Some(_) => Form::Llama3,
            None => Form::Json,
        };
    }

    /// Whether an answer must be a call.
    pub fn must_call(&self) -> bool {
        self.must_call.is_some()
    }

    /// What an answer that must call a tool obeys.
    pub fn constraint(&self, model: &Model) -> Result<Option<Constraint>, ApiError> {
        let (choice, field) = match &self.must_call {
            None => return Ok(None),
            Some(Wanted::Any) => (Choice::Required, "tools"),
            Some(Wanted::Named(name)) => (Choice::Named(name), "tool_choice"),
        };
        let several = self.several && matches!(choice, Choice::Required);
        let grammar = grammar(&self.tools, choice, self.form, several);
        let grammar = grammar.map_err(|error| ApiError::field(field, error.to_string()))?;
        let constraint = model.vocabulary().and_then(|vocabulary| Constraint::lark(&vocabulary, &grammar));
        constraint.map(Some).map_err(|error| ApiError::field("tools", error.to_string()))
    }

    /// Finds the calls of an answer.
    pub fn parser(&self) -> Parser {
        Parser::new(self.form).with_declared(self.tools.iter().map(|tool| tool.name.as_str()))
    }
}

/// A tool as templates expect it, and what is needed of it here.
fn tool(index: usize, tool: Json, style: Style) -> Result<(Json, Tool), ApiError> {
    let field = format!("tools[{index}]");
    match &tool["type"] {
        Json::String(kind) if kind == "function" => {}
        Json::String(kind) => {
            let message = format!("{kind:?} is not supported, but function is");
            return Err(ApiError::field(format!("{field}.type"), message));
        }
        other => return Err(wrong(&format!("{field}.type"), "function", other)),
    }
    let (tool, path) = match (tool, style) {
        (Json::Object(mut function), Style::Flat) => {
            function.shift_remove("type");
            (json!({"type": "function", "function": function}), field)
        }
        (tool, _) => (tool, format!("{field}.function")),
    };
    let mut function = Fields::of(tool["function"].clone(), &path)?;
    let name = function.text("name")?.filter(|name| !name.is_empty());
    let name = name.ok_or_else(|| ApiError::field(function.name("name"), "is missing"))?;
    Ok((tool, Tool { name, parameters: function.take("parameters") }))
}

/// The function that must be called.
fn chosen(choice: &Json, style: Style) -> Result<String, ApiError> {
    let (pointer, expected) = match style {
        Style::Nested => ("/function/name", "{\"type\": \"function\", \"function\": {\"name\": ...}}"),
        Style::Flat => ("/name", "{\"type\": \"function\", \"name\": ...}"),
    };
    match choice.pointer(pointer) {
        Some(Json::String(name)) if choice["type"] == "function" => Ok(name.clone()),
        _ => Err(ApiError::field("tool_choice", format!("expected {expected}"))),
    }
}
