//! Flags of `minfer embed`.

use std::path::PathBuf;

use clap::Args;
use minfer::{Normalize, Pooling};

use super::EngineArgs;
use crate::values;

#[derive(Args)]
#[command(after_help = "Examples:\n  \
    minfer embed bge-small.gguf \"A river.\" \"A stream.\"\n  \
    minfer embed bge-small.gguf -f lines.txt --json > vectors.json\n  \
    minfer embed qwen3-embedding.gguf \"A river.\" --pooling last --dimensions 256")]
pub struct EmbedArgs {
    /// A GGUF file, a known name, hf:ORG/REPO[:QUANT] or a URL; or -hf ORG/REPO[:QUANT] instead
    pub model: String,
    /// The texts; without them, -f or standard input, one text a line
    #[arg(conflicts_with = "file")]
    pub text: Vec<String>,
    /// Read the texts from a file, one a line
    #[arg(short, long, value_name = "FILE")]
    pub file: Option<PathBuf>,
    /// How the rows of a text become one: mean, cls (the first token's), last [default: as the file says, else mean for
    /// encoders and last for others]
    #[arg(long, value_parser = values::pooling, value_name = "KIND")]
    pub pooling: Option<Pooling>,
    /// What embeddings are divided by: -1 nothing, 0 the largest magnitude becomes 32760, 1 the sum of magnitudes,
    /// 2 the length, more: the norm of that exponent
    #[arg(
        long,
        allow_negative_numbers = true,
        default_value = "2",
        value_parser = values::normalize,
        value_name = "N"
    )]
    pub embd_normalize: Normalize,
    /// Keep so many of the first numbers, before they are normalized [default: all]
    #[arg(long, value_parser = values::at_least_one, value_name = "N")]
    pub dimensions: Option<usize>,
    /// Texts that a batch may hold
    #[arg(long, visible_alias = "np", default_value_t = 8, value_parser = values::at_least_one, value_name = "N")]
    pub parallel: usize,
    #[command(flatten)]
    pub engine: EngineArgs,
}
