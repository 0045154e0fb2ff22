//! From a body to a response, whatever the form: the answers as a whole or as they come.

use std::sync::Arc;
use std::time::Instant;

use axum::Json as JsonBody;
use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::response::{IntoResponse, Response};
use minfer::{GenerateOptions, Happening};

use crate::choice::{Choice, Delta};
use crate::generation::{Generation, blocking, body};
use crate::ignored::Ignored;
use crate::limits::timed;
use crate::teller::Teller;
use crate::tool_use::ToolUse;
use crate::{ApiError, Server, stream};

/// A request that was read.
pub(crate) struct Plan {
    /// Prompts with how to answer each, `n` for every prompt of the request.
    pub prompts: Vec<(Vec<u32>, GenerateOptions)>,
    pub n: usize,
    /// The field with the prompts.
    pub prompt_field: &'static str,
    pub tools: Option<ToolUse>,
    pub stream: bool,
    /// The form of the response.
    pub teller: Box<dyn Teller>,
    /// Fields that nobody knows.
    pub ignored: Ignored,
}

/// Makes a plan of a body.
pub(crate) type Read = fn(&[u8], &Arc<Server>) -> Result<Plan, ApiError>;

/// The response to a body that `read` understands. While it is waited for, or read, the answers are made; dropping it
/// gives them up.
pub(crate) async fn respond(
    server: Arc<Server>,
    bytes: Result<Bytes, BytesRejection>,
    read: Read,
) -> Result<Response, ApiError> {
    let since = Instant::now();
    server.engine.check()?;
    let bytes = body(bytes, &server)?;
    let (time, silence) = (server.options.time, server.options.silence);
    let begun = blocking(move || {
        let Plan { prompts, n, prompt_field, tools, stream, teller, ignored } = read(&bytes, &server)?;
        let several = tools.as_ref().is_none_or(|tools| tools.several);
        let choice = |_: &_| Choice::new(tools.as_ref().map(ToolUse::parser), several);
        let choices = prompts.iter().map(choice).collect();
        let generation = Generation::start(&server, prompts, prompt_field, since)?;
        Ok((ignored, stream, teller, Answers { server, choices, n, generation }))
    });
    timed(time, async move {
        let (ignored, is_stream, teller, answers) = begun.await?;
        let response = match is_stream {
            true => stream::response(teller, answers, silence, time.map(|limit| (since + limit, limit))),
            false => whole(teller, answers).await?,
        };
        Ok((ignored, response).into_response())
    })
    .await
}

async fn whole(mut teller: Box<dyn Teller>, mut answers: Answers) -> Result<Response, ApiError> {
    while let Some((index, happening)) = answers.generation.next().await {
        for delta in answers.take(index, happening)? {
            teller.add(index, delta);
        }
    }
    Ok(JsonBody(teller.whole(answers.spent()?)).into_response())
}

/// Answers that have begun.
pub(crate) struct Answers {
    server: Arc<Server>,
    choices: Vec<Choice>,
    n: usize,
    pub generation: Generation,
}

/// Tokens that answers took.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Spent {
    /// Of the prompts, each counted once, however many answers it has.
    pub prompt: usize,
    /// Of those, how many the cache had.
    pub cached: usize,
    /// Of the answers.
    pub answer: usize,
}

impl Answers {
    /// What is new of an answer. One that needs nothing more is ended.
    pub fn take(&mut self, index: usize, happening: Happening) -> Result<Vec<Delta>, ApiError> {
        let tokenizer = self.server.engine.model().tokenizer();
        let choice = &mut self.choices[index];
        let deltas = choice.take(happening, |id| tokenizer.is_eog(id))?;
        if choice.is_closed() {
            self.generation.cancel(index);
        }
        Ok(deltas)
    }

    /// What the answers took, once they are over; nothing more comes.
    pub fn spent(&self) -> Result<Spent, ApiError> {
        if !self.generation.is_over() {
            return Err(ApiError::Stopping);
        }
        let mut spent = Spent::default();
        for prompt in self.choices.iter().step_by(self.n) {
            spent.prompt += prompt.usage.prompt_tokens;
            spent.cached += prompt.usage.cached_tokens;
        }
        spent.answer = self.choices.iter().map(|choice| choice.usage.completion_tokens).sum();
        Ok(spent)
    }
}
