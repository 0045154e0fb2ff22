//! Flags of the commands that work on model files.

use clap::Args;

use crate::models;

#[derive(Args)]
#[command(after_help = "Example:\n  minfer inspect model.gguf --json")]
pub struct InspectArgs {
    /// Path of a GGUF file, or a known name
    pub model: String,
    /// Print one JSON value and nothing else
    #[arg(long)]
    pub json: bool,
}

#[derive(Args)]
#[command(after_help = format!(
    "Known names: {}\n\nModels are kept in the folder that MINFER_CACHE names, or in minfer/models of the user's \
    cache folder.\n\nExample:\n  minfer pull smollm2-135m",
    models::names()
))]
pub struct PullArgs {
    /// A known name
    pub name: String,
    /// Print one JSON value and nothing else
    #[arg(long)]
    pub json: bool,
}
