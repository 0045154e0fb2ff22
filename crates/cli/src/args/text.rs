//! Flags of the commands that score and split texts.

use std::path::PathBuf;

use clap::{ArgGroup, Args};

use super::EngineArgs;
use crate::values;

#[derive(Args)]
#[command(group(ArgGroup::new("text").args(["prompt", "tokens"]).required(true)))]
#[command(after_help = "Examples:\n  \
    minfer logits model.gguf --prompt \"The capital of France is\" --top 5\n  \
    minfer logits model.gguf --tokens 504,3575,282 --json")]
pub struct LogitsArgs {
    /// A GGUF file, a known name, hf:ORG/REPO[:QUANT] or a URL; or -hf ORG/REPO[:QUANT] instead
    pub model: String,
    /// Text to score, with the special tokens that the model wants
    #[arg(short, long, allow_hyphen_values = true, value_name = "TEXT")]
    pub prompt: Option<String>,
    /// Token ids to score, as they are
    #[arg(
        long,
        value_delimiter = ',',
        allow_hyphen_values = true,
        value_parser = values::token_number,
        value_name = "IDS"
    )]
    pub tokens: Option<Vec<i64>>,
    /// How many of the best ids to show
    #[arg(long, default_value_t = 10, value_name = "N")]
    pub top: usize,
    #[command(flatten)]
    pub engine: EngineArgs,
}

#[derive(Args)]
#[command(after_help = "Example:\n  minfer tokenize smollm2-135m \"Hello, world!\" --json")]
pub struct TokenizeArgs {
    /// A GGUF file, a known name, hf:ORG/REPO[:QUANT] or a URL; or -hf ORG/REPO[:QUANT] instead
    pub model: String,
    /// The text
    pub text: String,
    /// No BOS or EOS, and control tokens in the text are text
    #[arg(long)]
    pub no_special: bool,
    /// Print one JSON value and nothing else
    #[arg(long)]
    pub json: bool,
}

#[derive(Args)]
#[command(after_help = "Example:\n  minfer perplexity model.gguf book.txt -c 512")]
pub struct PerplexityArgs {
    /// A GGUF file, a known name, hf:ORG/REPO[:QUANT] or a URL; or -hf ORG/REPO[:QUANT] instead
    pub model: String,
    /// The text
    #[arg(required_unless_present = "file", conflicts_with = "file")]
    pub text_file: Option<PathBuf>,
    /// The text
    #[arg(short, long, value_name = "FILE")]
    pub file: Option<PathBuf>,
    #[command(flatten)]
    pub engine: EngineArgs,
}
