//! What a session will take, from the file's header alone: every term, before a weight is read or a byte allocated.

mod fit;
mod limit;
mod other;
mod picture;
mod text;

use cpu::{CpuDevice, Isa};
use gguf::Residence;
use graph::DType;
use memplan::Strategy;
use runtime::{ArenaNeeds, Blueprint};

use crate::session::{self, SessionOptions};
use crate::{Error, Model};

pub use fit::{Freedom, Proposal};
pub use limit::{MemoryLimit, OverLimit};
pub use other::OtherBytes;
pub use text::human_bytes;

/// The memory of a session, term by term, in bytes.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// What it is a plan for, after all defaults and limits.
    pub settings: Settings,
    /// The file, used where it is mapped. The system can drop these pages and read them again.
    pub weights_mapped: u64,
    /// Weights that are copied: a file read into memory, or dequantized weights.
    pub weights_copied: u64,
    /// Address space of the KV cache.
    pub kv_reserved: u64,
    /// What of it is in use when every sequence has [`Settings::tokens`] positions.
    pub kv_committed: u64,
    /// One more position of a sequence, in all layers.
    pub kv_per_token: u64,
    /// The arena of each device.
    pub arenas: Vec<ArenaPlan>,
    /// Hidden rows and logits on the host.
    pub head: u64,
    /// What is not planned to the byte: an upper bound.
    pub other: OtherBytes,
}

/// What a plan is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Positions of the context of each sequence.
    pub n_ctx: usize,
    /// Sequences.
    pub n_seq: usize,
    /// Tokens in a batch.
    pub n_ubatch: usize,
    /// Type of cached keys.
    pub type_k: DType,
    /// Type of cached values.
    pub type_v: DType,
    /// Positions of each sequence that `kv_committed` counts.
    pub tokens: usize,
    /// Threads.
    pub threads: usize,
    /// Tier of kernels.
    pub isa: Isa,
}

/// One device's arena, and what other planners would take for the same graphs.
#[derive(Clone, Debug, PartialEq)]
pub struct ArenaPlan {
    /// The device.
    pub device: String,
    /// What is taken and why.
    pub needs: ArenaNeeds,
    /// With a free list of size classes.
    pub size_class: u64,
    /// The step that holds the most.
    pub peak_step: String,
    /// What is live at that step, the largest first.
    pub peak_values: Vec<PeakValue>,
}

/// A value that is live where an arena is fullest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PeakValue {
    /// Its name.
    pub name: String,
    /// Its bytes.
    pub bytes: u64,
}

impl Plan {
    /// The largest working memory of a call on each device, part of the arenas.
    pub fn scratch(&self) -> u64 {
        self.arenas.iter().map(|a| a.needs.scratch).sum()
    }

    /// Windows for values that cross devices, part of the arenas.
    pub fn staging(&self) -> u64 {
        self.arenas.iter().map(|a| a.needs.staging).sum()
    }

    /// Arenas of all devices.
    pub fn arena_bytes(&self) -> u64 {
        self.arenas.iter().map(|a| a.needs.bytes).sum()
    }

    /// Everything but the mapped file, with [`Plan::kv_committed`] for the cache.
    pub fn total(&self) -> u64 {
        self.weights_copied + self.kv_committed + self.arena_bytes() + self.head + self.other.total()
    }
}

impl Model {
    /// Plans a session of this model on so many threads, with `tokens` positions in each sequence; without a number,
    /// with a full context.
    ///
    /// # Errors
    /// What [`crate::Session::new`] refuses, but for memory limits.
    pub fn plan(
        &self,
        options: &SessionOptions,
        threads: usize,
        tokens: Option<usize>,
    ) -> Result<Plan, Error> {
        let params = session::params(self, options)?;
        let blueprint = self.blueprint(options, threads, Strategy::Packed)?;
        let classes = blueprint.arena_bytes_with(Strategy::SizeClass)?;
        let arenas = blueprint.arenas().into_iter().zip(classes).enumerate();
        let arenas = arenas.map(|(d, (needs, classes))| arena(&blueprint, d, needs, classes)).collect();
        let tokens = tokens.unwrap_or(options.n_ctx).min(options.n_ctx);
        let in_file = self.file.file_bytes();
        let (weights_mapped, read) = match self.file.residence() {
            Residence::Mapped => (in_file, 0),
            Residence::Memory => (0, in_file),
        };
        let dequantized = if options.reference { blueprint.weights_bytes() } else { 0 };
        Ok(Plan {
            settings: Settings {
                n_ctx: params.body.n_ctx,
                n_seq: params.n_seq,
                n_ubatch: params.n_ubatch,
                type_k: params.body.type_k,
                type_v: params.body.type_v,
                tokens,
                threads,
                isa: session::tier(options)?,
            },
            weights_mapped,
            weights_copied: read + dequantized,
            kv_reserved: blueprint.kv_reserved(),
            kv_committed: blueprint.kv_committed(tokens),
            kv_per_token: blueprint.kv_per_token(),
            arenas,
            head: blueprint.rows(),
            other: OtherBytes::of(self, &blueprint, threads),
        })
    }

    /// Proves the plans of a session with the checker, which shares no code with the planner.
    pub fn check_plan(&self, options: &SessionOptions, threads: usize) -> Result<(), Error> {
        let blueprint = self.blueprint(options, threads, Strategy::Packed)?;
        for graph in [&blueprint.body, &blueprint.head] {
            graph
                .memory
                .check()
                .map_err(|fault| runtime::RuntimeError::from(compile::CompileError::from(fault)))?;
        }
        Ok(())
    }

    /// The planned graphs of a session on one CPU.
    pub(crate) fn blueprint(
        &self,
        options: &SessionOptions,
        threads: usize,
        strategy: Strategy,
    ) -> Result<Blueprint, Error> {
        let params = session::params(self, options)?;
        let device = CpuDevice::new(session::tier(options)?, threads);
        let dequantized = options.reference.then(|| self.model.dequantized());
        let model = dequantized.as_ref().unwrap_or(&self.model);
        Ok(Blueprint::new(model, &[&device], &session::on_the_cpu, &params, strategy)?)
    }
}

fn arena(blueprint: &Blueprint, device: usize, needs: ArenaNeeds, size_class: u64) -> ArenaPlan {
    let fuller = |g: &&runtime::PlannedGraph| g.memory.plan.spaces[device].bytes;
    let graph = [&blueprint.head, &blueprint.body].into_iter().max_by_key(fuller).expect("there are two");
    let (problem, space) = (&graph.memory.problem, &graph.memory.plan.spaces[device]);
    let value = |id: &memplan::ValueId| {
        let value = &problem.values[id.index()];
        PeakValue { name: value.name.clone(), bytes: value.bytes }
    };
    ArenaPlan {
        device: problem.spaces[device].name.clone(),
        needs,
        size_class,
        peak_step: problem.steps[space.bound_step.index()].name.clone(),
        peak_values: space.bound_values.iter().map(value).collect(),
    }
}
