//! The engine: devices, weights, sequences, programs.

mod params;
mod step;
mod stored;

use std::sync::Arc;

use backend::{Backend, SharedBytes};
use compile::{DeviceId, Program, Verify};
use graph::{Extents, Graph, NodeId};
use models::Model;

pub use self::params::Params;
use self::step::{Buffers, Lengths};
pub use self::stored::Held;
use crate::batch::{Cutter, Item, Piece, Rows};
use crate::cache::KvCache;
use crate::profile::Profile;
use crate::program_cache::GraphKind;
use crate::programs::Programs;
use crate::{RuntimeError, SeqId};

/// Where the bytes of weights come from.
pub trait WeightSource: Send + Sync {
    /// The bytes of a tensor, rows as the model's tensor table says.
    fn bytes(&self, name: &str) -> Option<SharedBytes>;
}

/// Device of each node of a graph, before lowering.
pub type Placement = Box<dyn Fn(&Graph, NodeId) -> DeviceId + Send>;

/// What an engine is made of.
pub struct EngineParts {
    /// Configuration and shapes.
    pub model: Model,
    /// The devices, at least one.
    pub devices: Vec<Box<dyn Backend>>,
    /// Which device a node should go to.
    pub placement: Placement,
    /// The weights' bytes.
    pub weights: Arc<dyn WeightSource>,
}

/// Bytes that an engine holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Memory {
    /// Arenas of all devices.
    pub arena_bytes: u64,
    /// What no plan of the arenas could do without.
    pub arena_bytes_lower_bound: u64,
    /// KV pages that sequences refer to.
    pub kv_bytes_committed: u64,
    /// Address space of the whole KV cache.
    pub kv_bytes_reserved: u64,
}

/// Runs a model on its devices for several sequences.
pub struct Engine {
    parts: EngineParts,
    params: Params,
    kv: KvCache,
    /// The largest batch that the cache was made for.
    n_ubatch_max: usize,
    programs: Programs,
    body: Arc<Program>,
    head: Arc<Program>,
    buffers: Buffers,
    profile: Option<Profile>,
}

impl Engine {
    /// Compiles the programs, reserves arenas and the cache's address space, registers weights.
    pub fn new(parts: EngineParts, params: Params) -> Result<Engine, RuntimeError> {
        let window = parts.model.config.window.as_ref().map(|w| w.positions);
        let kv = KvCache::new(params.n_seq + params.n_kept, params.body.n_ctx, params.n_ubatch, window);
        let empty = Arc::new(Program {
            capacity: Extents { tokens: 0, outputs: 0, sequences: 0 },
            splits: vec![],
            inputs: vec![],
            outputs: vec![],
            weights: vec![],
            regions: vec![],
            arenas: vec![],
            lives: None,
        });
        let mut engine = Engine {
            parts,
            params,
            kv,
            n_ubatch_max: params.n_ubatch,
            programs: Programs::default(),
            body: empty.clone(),
            head: empty,
            buffers: Buffers::default(),
            profile: None,
        };
        engine.rebuild(params)?;
        Ok(engine)
    }

    /// Changes batch size, rows of the head, fusions or checks. The cache and its sequences stay as they are, so
    /// another context or KV type is refused.
    pub fn rebuild(&mut self, params: Params) -> Result<(), RuntimeError> {
        params.refuse_nothing()?;
        // Windows hold one batch beside what they see.
        let most = self.parts.model.config.window.as_ref().map(|_| self.n_ubatch_max);
        params.refuse_another_cache(&self.params, most)?;
        let (parts, programs) = (&mut self.parts, &mut self.programs);
        let body = programs.get(parts, GraphKind::Body, &params)?;
        let head = programs.get(parts, GraphKind::Head, &params)?;
        self.kv.set_regions(&body.regions, &mut self.parts.devices)?;
        for (d, device) in self.parts.devices.iter_mut().enumerate() {
            let bytes = body.arenas[d].bytes.max(head.arenas[d].bytes);
            device.reserve_arena(bytes as usize)?;
        }
        // Only now that nothing can fail any more: else the old programs go on.
        (self.params, self.body, self.head) = (params, body, head);
        Ok(())
    }

    /// The program for a batch. Where guards are checked it is made for just this batch, so that they lie right behind
    /// the bytes that it uses.
    fn program(&mut self, kind: GraphKind, extents: &Extents) -> Result<Arc<Program>, RuntimeError> {
        if self.params.verify != Verify::Guards {
            return Ok(match kind {
                GraphKind::Body => self.body.clone(),
                GraphKind::Head => self.head.clone(),
            });
        }
        let params = Params {
            n_ubatch: extents.tokens,
            n_outputs: extents.outputs,
            n_seq: extents.sequences,
            head_rows: extents.outputs,
            ..self.params
        };
        let program = self.programs.get(&mut self.parts, kind, &params)?;
        for (device, arena) in self.parts.devices.iter_mut().zip(&program.arenas) {
            device.reserve_arena(arena.bytes as usize)?;
        }
        Ok(program)
    }

    /// How the engine runs.
    pub fn params(&self) -> &Params {
        &self.params
    }

    /// The model.
    pub fn model(&self) -> &Model {
        &self.parts.model
    }

    /// The program from token ids to hidden rows.
    pub fn body(&self) -> &Program {
        &self.body
    }

    /// The program from hidden rows to logits, or to normed rows.
    pub fn head(&self) -> &Program {
        &self.head
    }

    /// How often a program had to be made.
    pub fn programs_made(&self) -> usize {
        self.programs.misses()
    }

    /// Bytes held now.
    pub fn memory(&self) -> Memory {
        let (kv_bytes_committed, kv_bytes_reserved) = self.kv.bytes();
        let widest = |bytes: fn(&compile::Arena) -> u64| -> u64 {
            (0..self.parts.devices.len())
                .map(|d| bytes(&self.body.arenas[d]).max(bytes(&self.head.arenas[d])))
                .sum()
        };
        Memory {
            arena_bytes: widest(|a| a.bytes),
            arena_bytes_lower_bound: widest(|a| a.bytes_lower_bound),
            kv_bytes_committed,
            kv_bytes_reserved,
        }
    }

    /// Begins to measure where the time of runs goes; what was measured before is forgotten. Memory is not verified
    /// meanwhile.
    pub fn start_profile(&mut self) {
        self.profile = Some(Profile::default());
    }

    /// Whether runs are measured.
    pub fn is_profiling(&self) -> bool {
        self.profile.is_some()
    }

    /// Ends it, with what was measured.
    pub fn end_profile(&mut self) -> Profile {
        self.profile.take().unwrap_or_default()
    }

    /// A new, empty sequence.
    pub fn create(&mut self) -> SeqId {
        self.kv.create()
    }

    /// A second sequence that continues from the same positions.
    pub fn fork(&mut self, seq: SeqId) -> Result<SeqId, RuntimeError> {
        self.kv.fork(seq)
    }

    /// Positions of a sequence.
    pub fn len(&self, seq: SeqId) -> Result<usize, RuntimeError> {
        self.kv.len(seq)
    }

    /// Cuts a sequence to its first `to` positions.
    pub fn truncate(&mut self, seq: SeqId, to: usize) -> Result<(), RuntimeError> {
        self.kv.truncate(seq, to, &mut self.parts.devices)
    }

    /// Removes a sequence and gives back its pages.
    pub fn remove(&mut self, seq: SeqId) -> Result<(), RuntimeError> {
        self.kv.remove(seq, &mut self.parts.devices)
    }

    /// Appends each item's tokens to its sequence. `sink` gets (item, token of the item, row) for every row
    /// asked for, in order: logits, or hidden rows where [`Params::output`] or the model says so. An encoder reads each item
    /// as a whole text into an empty sequence, and nothing is read of it later. After an error the sequences have the positions that they had before; where a sliding
    /// window has let go of what those see, none.
    pub fn process(
        &mut self,
        items: &[Item],
        sink: &mut dyn FnMut(usize, usize, &[f32]),
    ) -> Result<(), RuntimeError> {
        self.check(items)?;
        let mut batch = std::mem::take(&mut self.buffers.batch);
        let result = self.run_batches(items, &mut batch, sink);
        self.buffers.batch = batch;
        if result.is_err() {
            for i in 0..self.buffers.lengths.len() {
                let Lengths { seq, before, .. } = self.buffers.lengths[i];
                match self.truncate(seq, before) {
                    Err(RuntimeError::WindowGone { .. }) => self.truncate(seq, 0)?,
                    other => other?,
                }
            }
        }
        result
    }

    fn run_batches(
        &mut self,
        items: &[Item],
        batch: &mut Vec<Piece>,
        sink: &mut dyn FnMut(usize, usize, &[f32]),
    ) -> Result<(), RuntimeError> {
        let mut cutter = Cutter::new(self.parts.model.config.arch.encoder);
        while cutter.next(items, &self.body.capacity, batch) {
            self.run_body(items, batch)?;
            self.run_head(items, batch, sink)?;
        }
        Ok(())
    }

    /// Everything that can be refused is refused before anything is computed. Leaves the lengths of the sequences in
    /// `buffers.lengths`, each once, though a sequence may be in several items.
    fn check(&mut self, items: &[Item]) -> Result<(), RuntimeError> {
        if items.is_empty() || items.iter().any(|i| i.tokens.is_empty()) {
            return Err(RuntimeError::EmptyBatch);
        }
        let (n_vocab, n_ctx) = (self.parts.model.config.n_vocab, self.params.body.n_ctx);
        let is_encoder = self.parts.model.config.arch.encoder;
        let lengths = &mut self.buffers.lengths;
        lengths.clear();
        for item in items {
            let bad = item.tokens.iter().position(|t| *t as usize >= n_vocab);
            if let Some(index) = bad {
                return Err(RuntimeError::TokenOutOfRange { index, id: item.tokens[index], n_vocab });
            }
            let index = match lengths.binary_search_by_key(&item.seq, |l| l.seq) {
                Ok(index) => index,
                Err(index) => {
                    let before = self.kv.len(item.seq)?;
                    lengths.insert(index, Lengths { seq: item.seq, before, after: before });
                    index
                }
            };
            let needed = &mut lengths[index].after;
            *needed += item.tokens.len();
            if *needed > n_ctx {
                return Err(RuntimeError::ContextFull { needed: *needed, n_ctx });
            }
            if is_encoder {
                check_whole(item, *needed - item.tokens.len(), &self.body.capacity)?;
            }
        }
        Ok(())
    }
}

/// What an encoder reads is the first of its sequence, and all of it goes into one batch.
fn check_whole(item: &Item, before: usize, capacity: &Extents) -> Result<(), RuntimeError> {
    if before > 0 {
        return Err(RuntimeError::Continued { seq: item.seq, len: before });
    }
    let (tokens, n_ubatch, n_outputs) = (item.tokens.len(), capacity.tokens, capacity.outputs);
    if tokens > n_ubatch || (item.rows == Rows::All && tokens > n_outputs) {
        return Err(RuntimeError::TextBeyondBatch { tokens, n_ubatch, n_outputs });
    }
    Ok(())
}
