//! One answer: streamed to standard output, ended by Ctrl-C.

use std::io::{self, Write};

use anyhow::{Context, Result, bail};
use minfer::{Engine, Error, FinishReason, GenerateOptions, Happening, Request, Usage};

use crate::interrupt::Interrupt;
use crate::progress::Progress;

/// What came of a prompt.
pub struct Answer {
    pub text: String,
    pub tokens: Vec<u32>,
    pub reason: FinishReason,
    pub usage: Usage,
    pub seed: u64,
}

/// Answers a prompt; prints the text while it comes unless `quiet`. The inner error is one that the conversation survives.
pub fn answer(
    engine: &Engine,
    prompt: Vec<u32>,
    options: GenerateOptions,
    interrupt: &Interrupt,
    quiet: bool,
) -> Result<Result<Answer, Error>> {
    let (total, seed) = (prompt.len() as u64, options.sampling.seed);
    let answers = match engine.generate(Request { prompt, options }) {
        Ok(answers) => answers,
        Err(error @ Error::EngineStopped) => return Err(error.into()),
        Err(error) => return Ok(Err(error)),
    };
    let cancel = answers.cancel();
    let mut progress = Progress::new("reading the prompt");
    let (mut text, mut tokens) = (String::new(), Vec::new());
    let mut out = io::stdout().lock();
    for happening in answers {
        if interrupt.happened() {
            cancel.cancel();
        }
        match happening {
            Happening::Started { cached_tokens: done } | Happening::Prompt { done } => {
                progress.set(done as u64, total);
            }
            Happening::Token { id, .. } => tokens.push(id),
            Happening::Text(piece) => {
                progress.finish();
                text.push_str(&piece);
                if !quiet {
                    let printed = out.write_all(piece.as_bytes()).and_then(|()| out.flush());
                    printed.context("cannot write to standard output")?;
                }
            }
            Happening::Finished { reason, usage } => {
                progress.finish();
                return Ok(Ok(Answer { text, tokens, reason, usage, seed }));
            }
            Happening::Failed(error) => {
                progress.finish();
                return Ok(Err(error));
            }
        }
    }
    bail!("the engine stopped in the middle of an answer")
}
