//! Every flag, with its name, its aliases and its help.

mod about;
mod answer;
mod bench;
mod chat;
mod constraint;
mod embed;
mod engine;
mod files;
mod load;
mod memory;
mod plan;
mod run;
mod sampling;
mod serve;
mod text;

use clap::{Args, Parser, Subcommand};
use minfer::Isa;

pub use about::{CompletionsArgs, CpuArgs, ManArgs};
pub use answer::AnswerArgs;
pub use bench::{BenchArgs, BenchOutput};
pub use chat::ChatArgs;
pub use constraint::ConstraintArgs;
pub use embed::EmbedArgs;
pub use engine::EngineArgs;
pub use files::{DumpArgs, GgufArgs, GgufTool, InspectArgs, ListArgs, PullArgs, RmArgs, SetArgs};
pub use load::LoadArgs;
pub use memory::MemoryArgs;
pub use plan::PlanArgs;
pub use run::RunArgs;
pub use sampling::SamplingArgs;
pub use serve::ServeArgs;
pub use text::{LogitsArgs, PerplexityArgs, TokenizeArgs};

use crate::values;

/// Run large language models on this machine: every byte planned before the first is allocated, the same
/// answer every time.
#[derive(Parser)]
#[command(
    name = "minfer",
    version = values::version(),
    max_term_width = 100,
    after_help = "MODEL is a path to a GGUF file, or what `minfer pull` takes: a known name, hf:ORG/REPO:QUANT or a URL.\n\
        Instead of MODEL, -hf ORG/REPO:QUANT does as well.\n\n\
        Examples:\n  \
        minfer run smollm2-135m \"Why is the sky blue?\"\n  \
        minfer chat smollm2-135m --system \"Be brief.\"\n  \
        minfer serve smollm2-135m --port 8080\n  \
        minfer run model.gguf -p \"Once upon a time\" -no-cnv --temp 0 -n 64\n  \
        minfer plan model.gguf -c 32768 --memory 2GiB\n  \
        minfer bench model.gguf -p 512 -n 64 -t 2\n\n\
        Exit codes: 0 done, 1 an error, 2 a wrong command line, 130 an answer that Ctrl-C ended."
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
    Run(Box<RunArgs>),
    /// Hold a conversation in the terminal
    Chat(Box<ChatArgs>),
    /// Answer requests over HTTP, as clients of OpenAI's interface send them
    Serve(Box<ServeArgs>),
    /// Score a text: logits after it and how likely it is
    Logits(LogitsArgs),
    /// Make embeddings of texts: vectors that are near where meanings are
    Embed(EmbedArgs),
    /// Say what a run will take, before anything is read: each term, whether it fits, what would
    Plan(Box<PlanArgs>),
    /// Show the tokens of a text
    Tokenize(TokenizeArgs),
    /// Perplexity of a text file, counted as llama.cpp counts it
    Perplexity(PerplexityArgs),
    /// Show what is in a file, also in one that cannot be run
    Inspect(InspectArgs),
    /// Measure prompt processing and generation
    Bench(BenchArgs),
    /// Show what this CPU is and which kernels it gets
    Cpu(CpuArgs),
    /// Print a script that completes this command's words in a shell
    Completions(CompletionsArgs),
    /// Print a page of the manual
    Man(ManArgs),
    /// Fetch a model into the cache: by name, from a hub, from a URL
    Pull(PullArgs),
    /// Show the models in the cache
    List(ListArgs),
    /// Remove a model from the cache
    Rm(RmArgs),
    /// Look into GGUF files, split, merge and change them
    Gguf(GgufArgs),
}
