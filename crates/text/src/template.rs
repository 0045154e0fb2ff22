//! Chat templates: Jinja set up as Hugging Face transformers does it.

mod bounded;
mod checked;
mod error;
mod guard;
mod named;
mod reading;
mod stack;
mod time;
mod tojson;

use std::collections::BTreeMap;

use minijinja::syntax::SyntaxConfig;
use minijinja::value::{Kwargs, Rest, Serde};
use minijinja::{Environment, ErrorKind, Value};
use serde_json::Value as Json;

use checked::Checked;
pub use error::{TemplateError, TemplateErrorKind};
pub use named::{named_template, template_names};
use reading::Reading;
use stack::on_own_stack;
pub use time::DateTime;

use crate::{Segment, Tokenizer};

/// The only template of the environment.
const NAME: &str = "chat_template";

/// Work that one rendering may do: a step each, and a step for every 64 bytes made. A long chat
/// needs some hundred thousand; a template that loops for ever ends within a second.
const FUEL: u64 = 4_000_000;

/// A compiled chat template.
pub struct ChatTemplate {
    environment: Environment<'static>,
    source: String,
    checked: Checked,
    variables: BTreeMap<String, Value>,
}

/// What a template sees beside the messages.
#[derive(Debug, Clone, Copy, Default)]
pub struct RenderOptions<'a> {
    /// End with the beginning of the answer.
    pub add_generation_prompt: bool,
    /// The tools on offer, a list as in the chat API.
    pub tools: Option<&'a Json>,
    /// Further variables by name; they win over all others.
    pub extra: Option<&'a serde_json::Map<String, Json>>,
    /// What `strftime_now` calls now; a template that asks for the time without it is an error.
    pub now: Option<DateTime>,
}

impl ChatTemplate {
    /// Length of the source.
    pub fn source_bytes(&self) -> usize {
        self.source.len()
    }

    /// Compiles a template. `bos` and `eos` are the texts of those tokens, empty where there is none.
    pub fn new(source: &str, bos: &str, eos: &str) -> Result<ChatTemplate, TemplateError> {
        let mut environment = Environment::new();
        let syntax = SyntaxConfig::builder()
            .trim_blocks(true)
            .lstrip_blocks(true)
            .build()
            .expect("the delimiters are the usual ones");
        environment.set_syntax(syntax.clone());
        environment.set_unknown_method_callback(minijinja_contrib::pycompat::unknown_method_callback);
        environment.set_fuel(Some(FUEL));
        // Errors then carry the place in the template.
        environment.set_debug(true);
        environment.add_function("raise_exception", error::raise_exception);
        environment.add_filter("tojson", tojson::tojson);
        bounded::add(&mut environment);
        let checked = on_own_stack(|| {
            let of_source = |error: minijinja::Error| TemplateError::new(&error, source, |offset| offset);
            let checked = Checked::new(source, &syntax).map_err(of_source)?;
            let checked = checked.map_err(|it| TemplateError::too_much(source, it.offset, &it.what))?;
            // So that what is wrong is told of the source itself.
            environment.add_template_owned(NAME, source.to_owned()).map_err(of_source)?;
            environment
                .add_template_owned(NAME, checked.text.clone())
                .map_err(|error| TemplateError::new(&error, source, |offset| checked.original(offset)))?;
            Ok(checked)
        })?;

        let mut variables = BTreeMap::new();
        for (name, text) in [("bos_token", bos), ("eos_token", eos)] {
            if !text.is_empty() {
                variables.insert(name.to_owned(), Value::from(text));
            }
        }
        Ok(ChatTemplate { environment, source: source.to_owned(), checked, variables })
    }

    /// The text of a chat. `messages` is a list of objects with `role` and `content`, as in the
    /// chat API; the template decides what else it reads.
    pub fn render(&self, messages: &Json, options: &RenderOptions) -> Result<String, TemplateError> {
        on_own_stack(|| self.render_here(messages, options))
    }

    fn render_here(&self, messages: &Json, options: &RenderOptions) -> Result<String, TemplateError> {
        let mut error = match self.render_once(Value::from(Serde(messages)), options) {
            Ok(text) => return Ok(text),
            Err(error) => error,
        };
        let may_be_of_message = matches!(error.kind, TemplateErrorKind::Raised | TemplateErrorKind::Render);
        if let Some(messages) = messages.as_array().filter(|_| may_be_of_message) {
            let reading = Reading::new(messages);
            let again = self.render_once(reading.messages.clone(), options);
            error.message_index = reading.last().filter(|_| again.as_ref() == Err(&error));
        }
        Err(error)
    }

    fn render_once(&self, messages: Value, options: &RenderOptions) -> Result<String, TemplateError> {
        let mut context = self.variables.clone();
        context.insert("messages".into(), messages);
        context.insert("add_generation_prompt".into(), options.add_generation_prompt.into());
        // `tools` is none and not undefined where there are none, as templates expect.
        context.insert("tools".into(), Value::from(Serde(options.tools)));
        let now = options.now;
        let strftime_now = move |format: &str, _: Rest<Value>, _: Kwargs| match now {
            Some(now) => now.format(format).map_err(|unknown| {
                let detail = format!("strftime_now knows no %{unknown}");
                minijinja::Error::new(ErrorKind::InvalidOperation, detail)
            }),
            None => Err(minijinja::Error::new(
                ErrorKind::InvalidOperation,
                "the template asks for the time and none was given",
            )),
        };
        context.insert("strftime_now".into(), Value::from_function(strftime_now));
        for (name, value) in options.extra.into_iter().flatten() {
            context.insert(name.clone(), Value::from(Serde(value)));
        }
        let template = self.environment.get_template(NAME).expect("added when made");
        template
            .render(context)
            .map_err(|error| TemplateError::new(&error, &self.source, |offset| self.checked.original(offset)))
    }

    /// As [`ChatTemplate::render`], cut where a message, a tool or a further variable holds text
    /// that `tokenizer` would take for markup: that text is a segment of its own, from the user.
    /// For [`Tokenizer::encode_segments`].
    ///
    /// A template may look for such text itself (for the end of a model's thoughts, say), which is
    /// respected. Where it cannot be told whose the text in the result is, that is an error.
    pub fn render_segments(
        &self,
        messages: &Json,
        options: &RenderOptions,
        tokenizer: &Tokenizer,
    ) -> Result<Vec<Segment>, TemplateError> {
        on_own_stack(|| guard::render_segments(self, messages, options, tokenizer))
    }
}
