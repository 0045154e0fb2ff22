//! Flags of `minfer bench`.

use clap::Args;

use super::EngineArgs;

#[derive(Args)]
#[command(after_help = "Example:\n  minfer bench model.gguf -p 512 -n 64 -d 0,2048 -t 2 -r 5")]
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
    /// Runs of each test
    #[arg(short, long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..), value_name = "N")]
    pub repetitions: u32,
    #[command(flatten)]
    pub engine: EngineArgs,
}
