//! Flags of `minfer run`.

use std::path::PathBuf;

use clap::Args;

use super::{ConstraintArgs, EngineArgs, SamplingArgs};

#[derive(Args)]
#[command(after_help = "Examples:\n  \
    minfer run smollm2-135m \"Name three rivers.\" --temp 0\n  \
    cat letter.txt | minfer run model.gguf -n 200\n  \
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
    /// Another chat template than the file's: chatml, gemma, llama3, phi3, or a file that holds one
    #[arg(long, value_name = "NAME|FILE", conflicts_with = "no_chat")]
    pub chat_template: Option<String>,
    /// Give the prompt to the model as it is, without the chat template (also -no-cnv)
    #[arg(long, visible_alias = "no-conversation")]
    pub no_chat: bool,
    /// At most N tokens; -1 or -2: until the model ends or the context is full
    #[arg(
        short = 'n',
        long = "predict",
        visible_alias = "n-predict",
        allow_negative_numbers = true,
        default_value_t = -1,
        value_parser = clap::value_parser!(i64).range(-2..),
        value_name = "N"
    )]
    pub predict: i64,
    /// End the answer before this text, again for more
    #[arg(
        short = 'r',
        long,
        visible_alias = "reverse-prompt",
        allow_hyphen_values = true,
        value_parser = clap::builder::NonEmptyStringValueParser::new(),
        value_name = "TEXT"
    )]
    pub stop: Vec<String>,
    /// Say in JSON how likely each token was, and the N best
    #[arg(long, requires = "json", value_name = "N")]
    pub logprobs: Option<usize>,
    #[command(flatten)]
    pub constraint: ConstraintArgs,
    #[command(flatten)]
    pub sampling: SamplingArgs,
    #[command(flatten)]
    pub engine: EngineArgs,
}
