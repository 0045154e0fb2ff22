//! Flags of `minfer chat`.

use std::path::PathBuf;

use clap::Args;

use super::{AnswerArgs, EngineArgs};

#[derive(Args)]
#[command(
    mut_arg("json", |json| json.help("Print each answer as one JSON value on one line, and so what /stats shows")),
    after_help = "Within the conversation /help tells the commands: /undo, /regen, /save FILE, /set temp 0.2 and others. A line\n\
        that ends with a backslash goes on in the next one. Ctrl-C ends an answer and keeps what there is of it; Ctrl-D or\n\
        /exit ends the conversation. Where standard input is no terminal, each line is a message or a command.\n\n\
        Examples:\n  \
        minfer chat smollm2-135m\n  \
        minfer chat model.gguf --system \"Answer in one sentence.\" --temp 0.2 -c 8192\n  \
        minfer chat model.gguf -f letter.txt\n  \
        printf '%s\\n' \"Name a river.\" \"And its length?\" /stats | minfer chat model.gguf --temp 0"
)]
pub struct ChatArgs {
    /// A GGUF file, a known name, hf:ORG/REPO[:QUANT] or a URL; or -hf ORG/REPO[:QUANT] instead
    pub model: String,
    /// System message of the conversation (also -sys)
    #[arg(long, visible_alias = "system-prompt", value_name = "TEXT", allow_hyphen_values = true)]
    pub system: Option<String>,
    /// Read the first message from a file (a newline at its end is left out)
    #[arg(short, long, value_name = "FILE")]
    pub file: Option<PathBuf>,
    /// Keep what was typed in this file, for the next conversation; without it, it is forgotten
    #[arg(long, value_name = "FILE")]
    pub history_file: Option<PathBuf>,
    #[command(flatten)]
    pub answer: AnswerArgs,
    #[command(flatten)]
    pub engine: EngineArgs,
}
