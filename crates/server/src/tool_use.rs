//! Tools that an answer may call.

use minfer::{Constraint, Model};
use serde_json::Value as Json;
use tools::{Choice, Form, Parser, Tool, grammar};

use crate::ApiError;
use crate::fields::{Fields, wrong};

/// What a request says of tools.
pub(crate) struct ToolUse {
    /// As the request has them, for the template.
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

impl ToolUse {
    /// Takes the fields; none if no tool may be called.
    pub fn read(fields: &mut Fields) -> Result<Option<ToolUse>, ApiError> {
        let declared = fields.take("tools");
        let tools = match &declared {
            None => Vec::new(),
            Some(Json::Array(list)) => {
                list.iter().enumerate().map(|(i, it)| tool(i, it)).collect::<Result<_, _>>()?
            }
            Some(other) => return Err(wrong("tools", "a list", other)),
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
            Some(choice) => match choice.pointer("/function/name") {
                Some(Json::String(name)) if choice["type"] == "function" => Some(Wanted::Named(name.clone())),
                _ => {
                    return Err(ApiError::field(
                        "tool_choice",
                        "expected {\"type\": \"function\", \"function\": {\"name\": ...}}",
                    ));
                }
            },
        };
        if tools.is_empty() && must_call.is_some() {
            return Err(ApiError::field("tool_choice", "a tool must be called, and none is declared"));
        }
        let declared = declared.filter(|_| !tools.is_empty());
        Ok(declared.map(|declared| ToolUse { declared, tools, must_call, several, form: Form::Json }))
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

fn tool(index: usize, tool: &Json) -> Result<Tool, ApiError> {
    let field = format!("tools[{index}]");
    if tool["type"] != "function" {
        return Err(ApiError::field(format!("{field}.type"), "expected function"));
    }
    let mut function = Fields::of(tool["function"].clone(), &format!("{field}.function"))?;
    let name = function.text("name")?.filter(|name| !name.is_empty());
    let name = name.ok_or_else(|| ApiError::field(format!("{field}.function.name"), "is missing"))?;
    Ok(Tool { name, parameters: function.take("parameters") })
}
