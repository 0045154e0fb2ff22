//! A conversation, each line of standard input a message: `cargo run --release -p minfer --example chat -- MODEL`.
//!
//! The conversation stays in one sequence, so that a turn computes only what is new in it.

use std::io::{BufRead, Write, stdin, stdout};
use std::{error::Error, ops::ControlFlow, sync::Arc};

use minfer::{
    Event, GenerateOptions, Model, RenderOptions, Session, SessionOptions, ThreadPool, default_threads,
};
use serde_json::json;

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args().nth(1).ok_or("usage: chat MODEL")?;
    let model = Arc::new(Model::load(path)?);
    let pool = Arc::new(ThreadPool::new(default_threads()));
    let mut session = Session::new(model.clone(), pool, &SessionOptions::default())?;
    let mut sequence = session.sequence();
    let render = RenderOptions { add_generation_prompt: true, ..RenderOptions::default() };
    let options = GenerateOptions { n_predict: Some(64), ..GenerateOptions::default() };
    let mut messages = Vec::new();
    for line in stdin().lock().lines() {
        messages.push(json!({"role": "user", "content": line?}));
        let prompt = model.tokenize_chat(&messages.clone().into(), &render)?;
        let answer = session.generate_in(&mut sequence, &prompt, &options, &mut |event| {
            if let Event::Text(piece) = event {
                print!("{piece}");
            }
            // A closed standard output ends the answer.
            match stdout().flush() {
                Ok(()) => ControlFlow::Continue(()),
                Err(_) => ControlFlow::Break(()),
            }
        })?;
        println!("\n[{} of {} tokens were known]", answer.cached_tokens, prompt.len());
        messages.push(json!({"role": "assistant", "content": answer.text}));
    }
    Ok(())
}
