//! What an engine will take, before any of it exists.

use compile::{DeviceId, Devices, MemoryPlan, Options, Placed};
use graph::{Graph, NodeId, Region, Source};
use memplan::{Pin, Strategy};
use models::{Model, PAGE_POSITIONS};

use crate::cache::pages_needed;
use crate::program_cache::GraphKind;
use crate::{Params, RuntimeError};

/// A graph as the passes leave it, and where its values will be.
#[derive(Debug)]
pub struct PlannedGraph {
    /// The graph with a device for each node.
    pub placed: Placed,
    /// Its memory.
    pub memory: MemoryPlan,
}

/// Every byte that an engine with these parameters plans: the same passes as the engine's, on the pure half of its
/// devices. Nothing is allocated and no weight is read.
#[derive(Debug)]
pub struct Blueprint {
    params: Params,
    n_embd: usize,
    row_width: usize,
    /// From token ids to hidden rows.
    pub body: PlannedGraph,
    /// From hidden rows to logits, or to normed rows.
    pub head: PlannedGraph,
}

/// What one device's arena takes. Body and head share it, one after the other: it is as large as the larger.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArenaNeeds {
    /// Bytes.
    pub bytes: u64,
    /// What no plan of these storages could do without.
    pub lower_bound: u64,
    /// With one buffer a value.
    pub naive: u64,
    /// The largest working memory of a call, part of `bytes`.
    pub scratch: u64,
    /// Windows for what comes from other devices, part of `bytes`.
    pub staging: u64,
    /// Values that have memory.
    pub values: usize,
}

impl Blueprint {
    /// Plans both graphs of the model.
    ///
    /// # Errors
    /// [`RuntimeError`] when a device lacks an operation or the model's graphs cannot be built for these parameters.
    pub fn new(
        model: &Model,
        devices: &Devices,
        placement: &dyn Fn(&Graph, NodeId) -> DeviceId,
        params: &Params,
        strategy: Strategy,
    ) -> Result<Blueprint, RuntimeError> {
        let plan = |kind| -> Result<PlannedGraph, RuntimeError> {
            let graph = kind_graph(model, kind, params)?;
            let preferred: Vec<DeviceId> = graph.node_ids().map(|id| placement(&graph, id)).collect();
            let options = Options { strategy, ..options(kind, params) };
            let placed = compile::place(graph, devices, &|id| preferred[id.0 as usize], &options.fusions)?;
            let memory = compile::plan(&placed, devices, &options)?;
            Ok(PlannedGraph { placed, memory })
        };
        let config = &model.config;
        Ok(Blueprint {
            params: *params,
            n_embd: config.n_embd,
            row_width: model.row_width(params.output),
            body: plan(GraphKind::Body)?,
            head: plan(GraphKind::Head)?,
        })
    }

    /// The arena of each device.
    pub fn arenas(&self) -> Vec<ArenaNeeds> {
        let devices = self.body.memory.plan.spaces.len();
        (0..devices)
            .map(|d| {
                let (body, head) = (self.body.arena(d), self.head.arena(d));
                ArenaNeeds {
                    bytes: body.bytes.max(head.bytes),
                    lower_bound: body.lower_bound.max(head.lower_bound),
                    naive: body.naive.max(head.naive),
                    scratch: body.scratch.max(head.scratch),
                    staging: body.staging.max(head.staging),
                    values: body.values + head.values,
                }
            })
            .collect()
    }

    /// What each device's arena would take if the same storages were packed otherwise: a baseline to compare with.
    pub fn arena_bytes_with(&self, strategy: Strategy) -> Result<Vec<u64>, RuntimeError> {
        let packed = |graph: &PlannedGraph| -> Result<Vec<u64>, RuntimeError> {
            let options = memplan::Options { strategy, ..memplan::Options::default() };
            let plan = memplan::plan(&graph.memory.problem, &options).map_err(compile::CompileError::from)?;
            Ok(plan.spaces.iter().map(|space| space.bytes).collect())
        };
        let (body, head) = (packed(&self.body)?, packed(&self.head)?);
        Ok(body.into_iter().zip(head).map(|(body, head)| body.max(head)).collect())
    }

    /// The regions of the cache.
    pub fn regions(&self) -> &[Region] {
        &self.body.placed.graph.regions
    }

    /// What a region of the cache takes while every sequence, the kept ones too, grows to `tokens` positions, or to the context if that is less;
    /// without a number its address space.
    pub fn region_bytes(&self, region: &Region, tokens: Option<usize>) -> u64 {
        let Params { body, n_seq, n_kept, n_ubatch, .. } = self.params;
        let tokens = tokens.map_or(body.n_ctx, |tokens| tokens.min(body.n_ctx));
        let pages = (n_seq + n_kept) * pages_needed(tokens, n_ubatch, region.window);
        page_bytes(region) * pages as u64
    }

    /// Address space of the whole cache.
    pub fn kv_reserved(&self) -> u64 {
        self.regions().iter().map(|r| self.region_bytes(r, None)).sum()
    }

    /// The most that is committed of the cache while every sequence grows to `tokens` positions, or to the context if
    /// that is less.
    pub fn kv_committed(&self, tokens: usize) -> u64 {
        self.regions().iter().map(|r| self.region_bytes(r, Some(tokens))).sum()
    }

    /// What one more position of a sequence takes, in all layers.
    pub fn kv_per_token(&self) -> u64 {
        self.regions().iter().map(|r| r.bytes_per_position() as u64).sum()
    }

    /// Bytes of the weights that the graphs read, each once a device.
    pub fn weights_bytes(&self) -> u64 {
        let mut seen = std::collections::BTreeMap::new();
        // A weight's shape depends on no batch.
        let capacity = self.params.capacity(GraphKind::Body);
        for graph in [&self.body.placed.graph, &self.head.placed.graph] {
            for (_, value) in graph.values_from(Source::Weight) {
                seen.insert(value.name.clone(), value.bytes(&capacity) as u64);
            }
        }
        seen.values().sum()
    }

    /// Rows on the host: hidden rows between body and head, and what the head gives at a time.
    pub fn rows(&self) -> u64 {
        let Params { n_outputs, head_rows, .. } = self.params;
        ((n_outputs * self.n_embd + head_rows * self.row_width) * size_of::<f32>()) as u64
    }
}

impl PlannedGraph {
    fn arena(&self, device: usize) -> ArenaNeeds {
        let MemoryPlan { problem, plan, .. } = &self.memory;
        let here = |id: usize| problem.values[id].space.index() == device && plan.placements[id].is_some();
        let pinned = |pin: Pin| {
            problem
                .values
                .iter()
                .enumerate()
                .filter(move |(id, v)| v.pin == pin && here(*id))
                .map(|(_, v)| v.bytes)
        };
        let space = &plan.spaces[device];
        ArenaNeeds {
            bytes: space.bytes,
            lower_bound: space.lower_bound,
            naive: space.naive,
            scratch: pinned(Pin::Scratch).max().unwrap_or(0),
            staging: pinned(Pin::Fresh).sum(),
            values: (0..problem.values.len()).filter(|id| here(*id)).count(),
        }
    }
}

/// One of the model's graphs.
pub(crate) fn kind_graph(model: &Model, kind: GraphKind, params: &Params) -> Result<Graph, RuntimeError> {
    Ok(match kind {
        GraphKind::Body => model.body(&params.body)?,
        GraphKind::Head => model.head_for(params.output)?,
    })
}

/// What a graph is compiled for.
pub(crate) fn options(kind: GraphKind, params: &Params) -> Options {
    Options { fusions: params.fusions, verify: params.verify, ..Options::new(params.capacity(kind)) }
}

fn page_bytes(region: &Region) -> u64 {
    (region.bytes_per_position() * PAGE_POSITIONS) as u64
}
