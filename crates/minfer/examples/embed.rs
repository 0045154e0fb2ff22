//! How near texts are to the first of them: `cargo run --release -p minfer --example embed -- MODEL TEXT TEXT...`.

use std::{error::Error, sync::Arc};

use minfer::{EmbedOptions, Embedder, Model, ThreadPool, default_threads};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().ok_or("usage: embed MODEL TEXT TEXT...")?;
    let texts: Vec<String> = arguments.collect();
    let pool = Arc::new(ThreadPool::new(default_threads()));
    let mut embedder = Embedder::new(Arc::new(Model::load(path)?), pool, &EmbedOptions::default())?;
    let vectors = embedder.embed(&texts)?;
    let first = &vectors.first().ok_or("there is no text")?.values;
    for (text, vector) in texts.iter().zip(&vectors) {
        // Vectors are of length 1, so that this is the cosine of the angle between two.
        let cosine: f32 = first.iter().zip(&vector.values).map(|(a, b)| a * b).sum();
        println!("{cosine:.3}  {text}");
    }
    Ok(())
}
