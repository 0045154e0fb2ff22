//! An answer that is JSON of a schema: `cargo run --release -p minfer --example constrained -- MODEL PROMPT`.

use std::{error::Error, ops::ControlFlow, sync::Arc};

use minfer::{Constraint, GenerateOptions, Model, Session, SessionOptions, ThreadPool, default_threads};
use serde_json::json;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [path, prompt] = &arguments[..] else { return Err("usage: constrained MODEL PROMPT".into()) };
    let model = Arc::new(Model::load(path)?);
    let schema = json!({
        "type": "object",
        "properties": {
            "river": {"type": "boolean"},
            "length": {"enum": ["short", "long", "unknown"]},
        },
        "required": ["river", "length"],
        "additionalProperties": false,
    });
    let constraint = Constraint::json_schema(&model.vocabulary()?, &schema)?;
    let prompt = model.tokenize(prompt, true)?;
    let pool = Arc::new(ThreadPool::new(default_threads()));
    let mut session = Session::new(model, pool, &SessionOptions::default())?;
    let options =
        GenerateOptions { n_predict: Some(200), constraint: Some(constraint), ..GenerateOptions::default() };
    let answer = session.generate(&prompt, &options, &mut |_| ControlFlow::Continue(()))?;
    println!("{}", answer.text);
    // Had the answer been cut off, it would only be the beginning of what obeys.
    println!("[{}]", answer.finish_reason.name());
    Ok(())
}
