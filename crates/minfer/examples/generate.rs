//! Answers a raw prompt: `cargo run --release -p minfer --example generate -- MODEL PROMPT`.

use std::{io::Write, ops::ControlFlow, sync::Arc};

use minfer::{Event, GenerateOptions, Model, Session, SessionOptions, ThreadPool, default_threads};

fn main() -> Result<(), minfer::Error> {
    let mut arguments = std::env::args().skip(1);
    let (Some(path), Some(prompt)) = (arguments.next(), arguments.next()) else {
        eprintln!("usage: generate MODEL PROMPT");
        std::process::exit(2);
    };
    let model = Arc::new(Model::load(path)?);
    let pool = Arc::new(ThreadPool::new(default_threads()));
    let prompt = model.tokenize(&prompt, true)?;
    let mut session = Session::new(model, pool, &SessionOptions::default())?;
    let options = GenerateOptions { n_predict: Some(64), ..GenerateOptions::default() };
    let generation = session.generate(&prompt, &options, &mut |event| {
        if let Event::Text(piece) = event {
            print!("{piece}");
        }
        // A closed standard output ends the answer.
        match std::io::stdout().flush() {
            Ok(()) => ControlFlow::Continue(()),
            Err(_) => ControlFlow::Break(()),
        }
    })?;
    println!("\n[{}]", generation.finish_reason.name());
    Ok(())
}
