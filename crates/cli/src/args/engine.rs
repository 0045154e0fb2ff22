//! How the engine runs: flags that several commands share.

use clap::Args;
use minfer::{DType, SessionOptions};

use super::{LoadArgs, MemoryArgs};
use crate::values::{self, GraphFile};

/// How the engine runs.
#[derive(Args, Clone)]
#[command(next_help_heading = "Engine")]
pub struct EngineArgs {
    #[command(flatten)]
    pub load: LoadArgs,
    /// Positions of the context; 0: what the model was trained for [default: 4096, or what a run needs;
    /// perplexity: 512]
    #[arg(short, long, value_name = "N")]
    pub ctx_size: Option<usize>,
    /// Tokens that are computed together
    #[arg(
        long,
        visible_alias = "ubatch",
        value_parser = values::at_least_one,
        value_name = "N",
        help = format!("Tokens that are computed together (also -ub) [default: {}]", SessionOptions::default().n_ubatch)
    )]
    pub ubatch_size: Option<usize>,
    /// Type of cached keys and values
    #[arg(long, value_parser = values::kv_type, value_name = "TYPE", help = values::kv_type_help())]
    pub kv_type: Option<DType>,
    /// Type of cached keys alone (also -ctk)
    #[arg(long, visible_alias = "cache-type-k", value_parser = values::kv_type, value_name = "TYPE")]
    pub kv_type_k: Option<DType>,
    /// Type of cached values alone (also -ctv)
    #[arg(long, visible_alias = "cache-type-v", value_parser = values::kv_type, value_name = "TYPE")]
    pub kv_type_v: Option<DType>,
    /// Compute with weights dequantized to f32 and an f32 cache: slow, the yardstick of quantized runs
    #[arg(long)]
    pub reference: bool,
    /// Check the plan of memory while it runs: unused memory is poisoned, first with guards around values (slow)
    #[arg(long)]
    pub verify_memory: bool,
    /// Write the compute graph to FILE.dot or FILE.json (or FILE.txt)
    #[arg(long, value_parser = values::graph_file, value_name = "FILE")]
    pub dump_graph: Option<GraphFile>,
    #[command(flatten)]
    pub memory: MemoryArgs,
    /// Print one JSON value and nothing else
    #[arg(long)]
    pub json: bool,
}
