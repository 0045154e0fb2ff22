//! What a session will take, before there is one: `cargo run --release -p minfer --example plan -- MODEL [POSITIONS]`.
//!
//! Only the file's header is read.

use std::error::Error;

use minfer::{Freedom, MemoryLimit, Model, SessionOptions, default_threads, human_bytes};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().ok_or("usage: plan MODEL [POSITIONS]")?;
    let n_ctx = arguments.next().map_or(Ok(4096), |number| number.parse())?;
    let (model, threads) = (Model::load(path)?, default_threads());
    let options = SessionOptions { n_ctx, ..SessionOptions::default() };
    let plan = model.plan(&options, threads, None)?;
    let terms = [
        ("weights, mapped", plan.weights_mapped),
        ("KV cache", plan.kv_committed),
        ("arenas", plan.arena_bytes()),
        ("rows of logits", plan.head),
        ("other, at most", plan.other.total()),
        ("in all", plan.total()),
    ];
    for (what, bytes) in terms {
        println!("{what:<16} {:>10}", human_bytes(bytes));
    }
    println!("a position takes {} of the KV cache", human_bytes(plan.kv_per_token));
    // What would fit into half of it, beside the file.
    let limit = MemoryLimit { bytes: plan.total() / 2, with_mapped: false };
    for proposal in model.would_fit(&options, threads, limit, &Freedom::ALL)? {
        println!("{} would hold: {proposal}", human_bytes(limit.bytes));
    }
    Ok(())
}
