//! Flags of `minfer run`.

use std::path::PathBuf;

use clap::Args;

use super::{AnswerArgs, ConstraintArgs, EngineArgs};

#[derive(Args)]
#[command(after_help = "Examples:\n  \
    minfer run smollm2-135m \"Name three rivers.\" --temp 0\n  \
    cat letter.txt | minfer run model.gguf -n 200\n  \
    minfer run model.gguf -f long.txt --prompt-cache long.kv\n  \
    minfer run model.gguf -p \"1, 2, 3,\" -no-cnv -n 16 --json\n  \
    minfer run model.gguf \"Is a whale a fish?\" --regex \"yes|no\"\n  \
    minfer run model.gguf \"A river in Africa.\" -j '{\"type\": \"object\", \"properties\": {\"name\": {\"type\": \
    \"string\"}, \"km\": {\"type\": \"integer\"}}, \"required\": [\"name\", \"km\"], \"additionalProperties\": false}'")]
pub struct RunArgs {
    /// A GGUF file, a known name, hf:ORG/REPO[:QUANT] or a URL; or -hf ORG/REPO[:QUANT] instead
    pub model: String,
    /// What to answer; without it, -p, -f or standard input
    #[arg(conflicts_with_all = ["prompt_option", "file"])]
    pub prompt: Option<String>,
    /// What to answer
    #[arg(
        short = 'p',
        long = "prompt",
        id = "prompt_option",
        conflicts_with = "file",
        allow_hyphen_values = true,
        value_name = "TEXT"
    )]
    pub prompt_option: Option<String>,
    /// Read the prompt from a file (a newline at its end is left out, as it is of standard input)
    #[arg(short, long, value_name = "FILE")]
    pub file: Option<PathBuf>,
    /// System message of the chat (also -sys)
    #[arg(long, value_name = "TEXT", conflicts_with = "no_chat", allow_hyphen_values = true)]
    pub system_prompt: Option<String>,
    /// Give the prompt to the model as it is, without the chat template (also -no-cnv)
    #[arg(long, visible_alias = "no-conversation", conflicts_with = "chat_template")]
    pub no_chat: bool,
    /// Keep what is computed of the prompt in this file: a prompt that begins alike computes only the rest
    #[arg(long, value_name = "FILE")]
    pub prompt_cache: Option<PathBuf>,
    /// Read the file of --prompt-cache and leave it as it is
    #[arg(long, requires = "prompt_cache")]
    pub prompt_cache_ro: bool,
    /// Say in JSON how likely each token was, and the N best
    #[arg(long, requires = "json", value_name = "N")]
    pub logprobs: Option<usize>,
    #[command(flatten)]
    pub answer: AnswerArgs,
    #[command(flatten)]
    pub constraint: ConstraintArgs,
    #[command(flatten)]
    pub engine: EngineArgs,
}
