//! Flags of `minfer serve`.

use std::num::NonZeroU32;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use minfer::{EngineOptions, Pooling};

use super::{EngineArgs, SamplingArgs};
use crate::values;

#[derive(Args)]
#[command(after_help = "MINFER_API_KEY is a key that requests need, like those of --api-key-file.\n\n\
    The first Ctrl-C or SIGTERM takes no more requests and finishes those that run, the second ends at once.\n\n\
    Examples:\n  \
    minfer serve smollm2-135m\n  \
    minfer serve model.gguf --port 9000 -np 8 -c 8192 --alias gpt-4o-mini\n  \
    curl http://127.0.0.1:8080/v1/chat/completions -d '{\"messages\": [{\"role\": \"user\", \"content\": \"Hi.\"}]}'")]
pub struct ServeArgs {
    /// A GGUF file, a known name, hf:ORG/REPO[:QUANT] or a URL; or -hf ORG/REPO[:QUANT] instead
    pub model: String,
    /// The address to listen at; 0.0.0.0: every one of this machine
    #[arg(long, default_value = "127.0.0.1", value_name = "HOST")]
    pub host: String,
    /// The port; 0: a free one, which is shown
    #[arg(long, default_value_t = 8080, value_name = "PORT")]
    pub port: u16,
    /// Requests need one of the keys in this file, one a line
    #[arg(long, value_name = "FILE")]
    pub api_key_file: Option<PathBuf>,
    /// An origin whose pages may ask from a browser, as in https://example.com, again for more; *: all [default: none]
    #[arg(long, value_parser = values::origin, value_name = "ORIGIN")]
    pub cors_origin: Vec<String>,
    /// Requests a minute that each key may send, or all together without keys; more get 429
    #[arg(long, value_name = "N")]
    pub rate_limit: Option<NonZeroU32>,
    /// A name of the model in requests and answers, again for more [default: the file's name and the model's own]
    #[arg(short, long, value_name = "NAME")]
    pub alias: Vec<String>,
    /// Requests that are answered side by side, each with the whole context (also -np)
    #[arg(
        long,
        visible_alias = "np",
        default_value_t = EngineOptions::default().session.n_seq,
        value_parser = values::at_least_one,
        value_name = "N"
    )]
    pub parallel: usize,
    /// Room in the cache for so many contexts more: what a request begins with is not computed again if an earlier one
    /// began so; 0: nothing is kept
    #[arg(long, default_value_t = EngineOptions::default().session.n_kept, value_name = "N")]
    pub keep_contexts: usize,
    /// Requests that may wait; more are refused
    #[arg(long, default_value_t = EngineOptions::default().queue, value_name = "N")]
    pub queue: usize,
    /// Tokens of prompts that are computed between two tokens of the answers beside them
    #[arg(
        long,
        default_value_t = EngineOptions::default().chunk,
        value_parser = values::at_least_one,
        value_name = "N"
    )]
    pub chunk: usize,
    /// Seconds within which a response has to be complete; what takes longer ends with an error [default: no limit]
    #[arg(long, value_parser = values::seconds, value_name = "SECONDS")]
    pub timeout: Option<Duration>,
    /// Answer /v1/embeddings too, with memory of its own; encoders answer nothing else
    #[arg(long, visible_alias = "embedding")]
    pub embeddings: bool,
    /// How the rows of a text become its embedding: mean, cls (the first token's), last [default: as the file says, else
    /// mean for encoders and last for others]
    #[arg(long, value_parser = values::pooling, value_name = "KIND")]
    pub pooling: Option<Pooling>,
    /// Another chat template than the file's: chatml, gemma, llama3, phi3, or a file that holds one
    #[arg(long, value_name = "NAME|FILE")]
    pub chat_template: Option<String>,
    /// What a request gets that does not say
    #[command(flatten)]
    pub sampling: SamplingArgs,
    #[command(flatten)]
    pub engine: EngineArgs,
}
