//! Draws the plan of a model as it would be without fusions: what `minfer plan --svg` draws, with every operation by itself.
//!
//! `cargo run --release -p minfer --example unfused -- model.gguf plan.svg`

use std::error::Error;

use minfer::{Fused, Isa, MemoryLimit, Model, SessionOptions, picture};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [model, out] = &arguments[..] else { return Err("expected a model and a file to write".into()) };
    let options = SessionOptions {
        n_ctx: 4096,
        n_ubatch: 512,
        fusions: Fused::NONE,
        isa: Some(Isa::Scalar),
        ..SessionOptions::default()
    };
    let limit = MemoryLimit { bytes: 64 << 20, with_mapped: false };
    let picture = Model::load(model)?.plan_picture(&options, 1, None, Some(limit))?;
    std::fs::write(out, picture::svg(&picture))?;
    Ok(())
}
