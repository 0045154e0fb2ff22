//! Every flag, with its name, its aliases and its help.

use std::path::PathBuf;

use clap::{ArgGroup, Args, Parser, Subcommand};
use minfer::{DType, Isa};

use crate::models;
use crate::values::{self, GraphFile};

/// Run large language models on this machine: every byte planned before the first is allocated, the same
/// answer every time.
#[derive(Parser)]
#[command(
    name = "minfer",
    version,
    max_term_width = 100,
    after_help = "MODEL is a path to a GGUF file, or a name that `minfer pull` knows.\n\n\
        Examples:\n  \
        minfer run smollm2-135m \"Why is the sky blue?\"\n  \
        minfer run model.gguf -p \"Once upon a time\" -no-cnv --temp 0 -n 64\n  \
        minfer bench model.gguf -p 512 -n 64 -t 2"
)]
pub struct Cli {
    #[command(flatten)]
    pub machine: MachineArgs,
    #[command(subcommand)]
    pub command: Command,
}

/// Which part of the machine to use; taken before or after the subcommand.
#[derive(Args, Clone)]
pub struct MachineArgs {
    /// Threads [default: the physical cores that this process may use; 0 and -1 mean the same]
    #[arg(short, long, global = true, allow_negative_numbers = true, value_name = "N")]
    pub threads: Option<i64>,
    /// Which kernels to use
    #[arg(long, global = true, value_name = "TIER", help = values::isa_help())]
    pub isa: Option<Isa>,
}

#[derive(Subcommand)]
pub enum Command {
    /// Answer a prompt
    Run(RunArgs),
    /// Score a text: logits after it and how likely it is
    Logits(LogitsArgs),
    /// Show the tokens of a text
    Tokenize(TokenizeArgs),
    /// Perplexity of a text file, counted as llama.cpp counts it
    Perplexity(PerplexityArgs),
    /// Show what is in a file, also in one that cannot be run
    Inspect(InspectArgs),
    /// Measure prompt processing and generation
    Bench(BenchArgs),
    /// Fetch a model by name into the cache
    Pull(PullArgs),
}

/// How the engine runs.
#[derive(Args, Clone)]
pub struct EngineArgs {
    /// Positions of the context; 0: what the model was trained for [default: 4096, or what a run needs;
    /// perplexity: 512]
    #[arg(short, long, value_name = "N")]
    pub ctx_size: Option<usize>,
    /// Tokens that are computed together
    #[arg(
        long,
        visible_alias = "ubatch",
        default_value_t = 512,
        value_parser = values::at_least_one,
        value_name = "N",
        help = "Tokens that are computed together (also -ub)"
    )]
    pub ubatch_size: usize,
    /// Type of cached keys: f16, f32, q8_0 (also -ctk)
    #[arg(long, value_parser = values::kv_type, value_name = "TYPE")]
    pub cache_type_k: Option<DType>,
    /// Type of cached values: f16, f32, q8_0 (also -ctv)
    #[arg(long, value_parser = values::kv_type, value_name = "TYPE")]
    pub cache_type_v: Option<DType>,
    /// Both cache types at once
    #[arg(long, value_parser = values::kv_type, value_name = "TYPE")]
    pub kv_type: Option<DType>,
    /// Compute with weights dequantized to f32 and an f32 cache: slow, the yardstick of quantized runs
    #[arg(long)]
    pub reference: bool,
    /// Write the compute graph to FILE.dot or FILE.json (or FILE.txt)
    #[arg(long, value_parser = values::graph_file, value_name = "FILE")]
    pub dump_graph: Option<GraphFile>,
    /// Print one JSON value and nothing else
    #[arg(long)]
    pub json: bool,
}

#[derive(Args)]
#[command(after_help = "Examples:\n  \
    minfer run smollm2-135m \"Name three rivers.\" --temp 0\n  \
    cat letter.txt | minfer run model.gguf -n 200\n  \
    minfer run model.gguf -p \"1, 2, 3,\" -no-cnv -n 16 --json")]
pub struct RunArgs {
    /// Path of a GGUF file, or a known name
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
    /// Temperature; 0 takes the best token every time
    #[arg(
        long,
        visible_alias = "temperature",
        allow_negative_numbers = true,
        default_value_t = 0.8,
        value_parser = values::temperature,
        value_name = "T"
    )]
    pub temp: f32,
    /// Seed of the choices; -1: a new one, which is shown
    #[arg(
        short,
        long,
        allow_negative_numbers = true,
        default_value = "-1",
        value_parser = values::seed,
        value_name = "N"
    )]
    pub seed: i128,
    #[command(flatten)]
    pub engine: EngineArgs,
}

#[derive(Args)]
#[command(group(ArgGroup::new("text").args(["prompt", "tokens"]).required(true)))]
#[command(after_help = "Examples:\n  \
    minfer logits model.gguf --prompt \"The capital of France is\" --top 5\n  \
    minfer logits model.gguf --tokens 504,3575,282 --json")]
pub struct LogitsArgs {
    /// Path of a GGUF file, or a known name
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
    /// Path of a GGUF file, or a known name
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
    /// Path of a GGUF file, or a known name
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
#[command(after_help = "Example:\n  minfer bench model.gguf -p 512 -n 64 -d 0,2048 -t 2 -r 5")]
pub struct BenchArgs {
    /// Path of a GGUF file, or a known name
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
