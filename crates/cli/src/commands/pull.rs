//! `minfer pull`.

use anyhow::{Context, Result};
use serde_json::json;

use super::{print_json, print_text};
use crate::args::PullArgs;
use crate::models;

pub fn run(args: PullArgs) -> Result<()> {
    let unknown = || format!("{} is not a known name; known: {}", args.name, models::names());
    let path = models::pull(models::find(&args.name).with_context(unknown)?)?;
    if args.json {
        return print_json(&json!({"name": args.name, "path": path}));
    }
    print_text(&format!("{}\n", path.display()))
}
