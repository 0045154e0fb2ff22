//! Several requests side by side, each told as it comes: `cargo run --release -p minfer --example engine -- MODEL PROMPT...`.
//!
//! The last one is cancelled after its fourth token.

use std::{error::Error, thread};

use minfer::{Engine, EngineOptions, GenerateOptions, Happening, LoadOptions, Request};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().ok_or("usage: engine MODEL PROMPT...")?;
    let prompts: Vec<String> = arguments.collect();
    let engine = Engine::open(path, &LoadOptions::default(), &EngineOptions::default())?;
    let mut requests = Vec::new();
    for prompt in &prompts {
        let options = GenerateOptions { n_predict: Some(32), ignore_eos: true, ..GenerateOptions::default() };
        requests.push(engine.generate(Request { prompt: engine.model().tokenize(prompt, true)?, options })?);
    }
    // Each request is heard on a thread of its own; all are computed on the engine's.
    thread::scope(|scope| {
        for (number, answers) in requests.into_iter().enumerate() {
            let is_last = number + 1 == prompts.len();
            scope.spawn(move || {
                let cancel = answers.cancel();
                let (mut text, mut tokens) = (String::new(), 0);
                for happening in answers {
                    match happening {
                        Happening::Text(piece) => text += &piece,
                        Happening::Token { .. } => tokens += 1,
                        Happening::Finished { reason, usage } => println!(
                            "request {number}: {text:?} [{}, {} of {} tokens of the prompt were known]",
                            reason.name(),
                            usage.cached_tokens,
                            usage.prompt_tokens
                        ),
                        Happening::Failed(error) => println!("request {number}: {error}"),
                        Happening::Started { .. } | Happening::Prompt { .. } => {}
                    }
                    if is_last && tokens == 4 {
                        cancel.cancel();
                    }
                }
            });
        }
    });
    println!("{} tokens computed", engine.stats().computed_tokens);
    Ok(())
}
