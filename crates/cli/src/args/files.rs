//! Flags of the commands that work on model files.

use std::path::PathBuf;

use clap::{ArgGroup, Args, Subcommand};
use gguf::PartLimit;

use crate::{known, values};

#[derive(Args)]
#[command(after_help = "Example:\n  minfer inspect model.gguf --json")]
pub struct InspectArgs {
    /// A GGUF file, a known name, hf:ORG/REPO[:QUANT] or a URL; or -hf ORG/REPO[:QUANT] instead
    pub model: String,
    /// Print one JSON value and nothing else
    #[arg(long)]
    pub json: bool,
}

#[derive(Args)]
#[command(after_help = format!(
    "Known names: {}\n\nOf a repository the file is taken whose name has QUANT in it; without QUANT Q4_K_M, then \
    Q4_0, then the only one. HF_TOKEN is sent to the hub, HF_ENDPOINT names another one. A download that was cut \
    continues.\n\nModels are kept in the folder that MINFER_CACHE names, or in minfer/models of the user's cache \
    folder.\n\nExamples:\n  minfer pull smollm2-135m\n  minfer pull hf:ORG/REPO:Q8_0\n  \
    minfer pull https://example.org/model.gguf",
    known::names()
))]
pub struct PullArgs {
    /// A known name, hf:ORG/REPO, hf:ORG/REPO:QUANT, or the URL of a GGUF file
    pub name: String,
    /// The hub that is asked for repositories
    #[arg(long, value_name = "URL")]
    pub mirror: Option<String>,
    /// Print one JSON value and nothing else
    #[arg(long)]
    pub json: bool,
}

#[derive(Args)]
#[command(after_help = "Example:\n  minfer list --json")]
pub struct ListArgs {
    /// Print one JSON value and nothing else
    #[arg(long)]
    pub json: bool,
}

#[derive(Args)]
#[command(after_help = "Example:\n  minfer rm smollm2-135m")]
pub struct RmArgs {
    /// A name that `minfer list` shows, or what the model was pulled by
    pub name: String,
}

#[derive(Args)]
#[command(after_help = "Examples:\n  \
    minfer gguf dump model.gguf\n  \
    minfer gguf split model.gguf parts/model --max-size 2G\n  \
    minfer gguf merge parts/model-00001-of-00004.gguf whole.gguf\n  \
    minfer gguf set model.gguf renamed.gguf general.name=Mine")]
pub struct GgufArgs {
    #[command(subcommand)]
    pub tool: GgufTool,
}

#[derive(Subcommand)]
pub enum GgufTool {
    /// Show every key and every tensor
    Dump(DumpArgs),
    /// Cut a model into parts
    Split(SplitArgs),
    /// Put the parts of a model together
    Merge(MergeArgs),
    /// Write a model anew with another value of a key
    Set(SetArgs),
}

#[derive(Args)]
#[command(after_help = "Example:\n  minfer gguf dump model.gguf --json")]
pub struct DumpArgs {
    /// A GGUF file, any part of a split one, or what else stands for a model
    pub file: String,
    /// Print one JSON value and nothing else
    #[arg(long)]
    pub json: bool,
}

#[derive(Args)]
#[command(group(ArgGroup::new("limit").args(["max_size", "max_tensors"]).required(true)))]
#[command(after_help = "Example:\n  minfer gguf split model.gguf parts/model --max-size 2G")]
pub struct SplitArgs {
    /// A GGUF file, any part of a split one, or what else stands for a model
    pub file: String,
    /// What the names of the parts begin with: OUT_PREFIX-00001-of-00004.gguf
    pub out_prefix: PathBuf,
    /// Bytes of tensors in a part, with K, M or G for thousands, millions and billions
    #[arg(long, value_parser = values::bytes, value_name = "SIZE")]
    pub max_size: Option<u64>,
    /// Tensors in a part
    #[arg(long, value_parser = values::at_least_one, value_name = "N")]
    pub max_tensors: Option<usize>,
}

impl SplitArgs {
    /// One of the two is given.
    pub fn limit(&self) -> PartLimit {
        let tensors = PartLimit::Tensors(self.max_tensors.unwrap_or(usize::MAX));
        self.max_size.map_or(tensors, PartLimit::Bytes)
    }
}

#[derive(Args)]
#[command(after_help = "Example:\n  minfer gguf merge model-00001-of-00004.gguf whole.gguf")]
pub struct MergeArgs {
    /// Any part of the model
    pub first_part: String,
    /// The file to write, which must not exist
    pub out: PathBuf,
}

#[derive(Args)]
#[command(after_help = "Examples:\n  \
    minfer gguf set model.gguf new.gguf general.name=Mine\n  \
    minfer gguf set model.gguf new.gguf tokenizer.ggml.add_bos_token bool false\n\n\
    Types: u8, i8, u16, i16, u32, i32, u64, i64, f32, f64, bool, string. The value begins after the first `=`.")]
pub struct SetArgs {
    /// A GGUF file, any part of a split one, or what else stands for a model
    pub file: String,
    /// The file to write, which must not exist
    pub out: PathBuf,
    /// KEY=VALUE with the type that the key has, or KEY TYPE VALUE
    #[arg(required = true, num_args = 1..=3, allow_hyphen_values = true, value_name = "KEY=VALUE")]
    pub assignment: Vec<String>,
}
