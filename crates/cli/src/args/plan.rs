//! Flags of `minfer plan`.

use std::path::PathBuf;

use clap::Args;

use super::EngineArgs;
use crate::values;

#[derive(Args)]
#[command(after_help = "Examples:\n  \
    minfer plan model.gguf\n  \
    minfer plan model.gguf -c 32768 --kv-type q8_0 --memory 2GiB\n  \
    minfer plan model.gguf --ubatch-size 512 --html plan.html")]
pub struct PlanArgs {
    /// A GGUF file, a known name, hf:ORG/REPO[:QUANT] or a URL; or -hf ORG/REPO[:QUANT] instead
    pub model: String,
    /// Sequences that are kept at the same time, each with a context of its own
    #[arg(long, visible_alias = "np", default_value_t = 1, value_parser = values::at_least_one, value_name = "N")]
    pub parallel: usize,
    /// Positions of each sequence that the total counts [default: the context]
    #[arg(long, value_parser = values::at_least_one, value_name = "N")]
    pub tokens: Option<usize>,
    /// Prove the plan with the independent checker
    #[arg(long)]
    pub check: bool,
    /// Name the values that hold the peak, and what would lower it
    #[arg(long)]
    pub explain: bool,
    #[command(flatten)]
    pub engine: EngineArgs,
    /// Draw the plan's timeline
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
    /// Draw the plan's timeline as a page to look around in
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
}
