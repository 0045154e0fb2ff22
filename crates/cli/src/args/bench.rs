//! Flags of `minfer bench`.

use clap::{Args, ValueEnum};

use super::EngineArgs;
use crate::values;

/// How results are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum BenchOutput {
    Table,
    Json,
    Csv,
    Md,
}

#[derive(Args)]
#[command(after_help = "Examples:\n  \
    minfer bench model.gguf -p 512 -n 64 -d 0,2048 -t 2 -r 5\n  \
    minfer bench model.gguf -p 0 -n 64 -b 1,2,4,8\n  \
    minfer bench model.gguf --limits --profile")]
pub struct BenchArgs {
    /// A GGUF file, a known name, hf:ORG/REPO[:QUANT] or a URL; or -hf ORG/REPO[:QUANT] instead
    pub model: String,
    /// Lengths of prompts; 0: none
    #[arg(short = 'p', long, value_delimiter = ',', default_value = "512", value_name = "N,..")]
    pub n_prompt: Vec<usize>,
    /// Numbers of tokens to generate; 0: none
    #[arg(short = 'n', long, value_delimiter = ',', default_value = "64", value_name = "N,..")]
    pub n_gen: Vec<usize>,
    /// Tokens of context before each test
    #[arg(short = 'd', long, value_delimiter = ',', default_value = "0", value_name = "N,..")]
    pub n_depth: Vec<usize>,
    /// Sequences that are decoded together; the speed is of all their tokens
    #[arg(short = 'b', long, value_delimiter = ',', default_value = "1", value_parser = values::at_least_one, value_name = "N,..")]
    pub batch: Vec<usize>,
    /// Measure what the machine can do at most, and say how much of it is reached
    #[arg(long)]
    pub limits: bool,
    /// Show where the time goes, by operation, in one more run of each test
    #[arg(long)]
    pub profile: bool,
    /// How results are printed
    #[arg(short, long, value_enum, default_value_t = BenchOutput::Table, value_name = "FORM")]
    pub output: BenchOutput,
    /// Runs of each test
    #[arg(short, long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..), value_name = "N")]
    pub repetitions: u32,
    #[command(flatten)]
    pub engine: EngineArgs,
}
