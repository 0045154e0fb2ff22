//! What the memory of a run may be.

use clap::Args;
use minfer::MemoryLimit;

use crate::values;

#[derive(Args, Clone, Default)]
#[command(next_help_heading = "Memory")]
pub struct MemoryArgs {
    /// The most memory beside the mapped file, with a full context, as in 2GiB or 500MB; what would take more is
    /// refused before a weight is read [default: the limit of the container, if there is one]
    #[arg(long, value_parser = values::size, value_name = "SIZE")]
    pub memory: Option<u64>,
    /// The most memory with the mapped file
    #[arg(long, value_parser = values::size, value_name = "SIZE", conflicts_with = "memory")]
    pub memory_total: Option<u64>,
    /// Change what no flag says so that it fits: first the batch, then the context, then the KV type
    #[arg(long)]
    pub fit: bool,
}

impl MemoryArgs {
    /// The limit that was asked for.
    pub fn limit(&self) -> Option<MemoryLimit> {
        let limit = |bytes, with_mapped| MemoryLimit { bytes, with_mapped };
        let total = self.memory_total.map(|bytes| limit(bytes, true));
        total.or(self.memory.map(|bytes| limit(bytes, false)))
    }
}
