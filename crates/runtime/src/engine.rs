//! The engine: devices, weights, sequences, programs.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use backend::{Backend, Fused, SharedBytes};
use compile::{DeviceId, Program, Verify};
use graph::{Extents, Graph, NodeId};
use models::{BodyParams, Model, PAGE_POSITIONS, inputs};

use crate::batch::{Item, Piece, cut};
use crate::cache::KvCache;
use crate::profile::{self, Profile, Seen};
use crate::program_cache::GraphKind;
use crate::programs::Programs;
use crate::{RuntimeError, SeqId, executor};

/// Where the bytes of weights come from.
pub trait WeightSource: Send + Sync {
    /// The bytes of a tensor, rows as the model's tensor table says.
    fn bytes(&self, name: &str) -> Option<SharedBytes>;
}

/// How an engine runs. Only what cannot change a result may change while it lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Params {
    /// Context and KV types; fixed.
    pub body: BodyParams,
    /// Sequences in a batch, and as many full contexts of cache; fixed.
    pub n_seq: usize,
    /// Tokens in a batch.
    pub n_ubatch: usize,
    /// Rows of a batch that go on to the head. Who wants logits after every token wants as many as tokens: batches are
    /// cut so that no more are asked for.
    pub n_outputs: usize,
    /// Rows that the head computes at a time.
    pub head_rows: usize,
    /// Fusions in use.
    pub fusions: Fused,
    /// Whether runs check the plan of their memory.
    pub verify: Verify,
}

impl Params {
    /// The largest batch of a program of one of the model's graphs.
    pub fn capacity(&self, kind: GraphKind) -> Extents {
        match kind {
            GraphKind::Body => {
                Extents { tokens: self.n_ubatch, outputs: self.n_outputs, sequences: self.n_seq }
            }
            GraphKind::Head => Extents { tokens: self.head_rows, outputs: self.head_rows, sequences: 1 },
        }
    }
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

/// Host memory that is reused from run to run.
#[derive(Default)]
struct Buffers {
    bytes: Vec<u8>,
    hidden: Vec<u8>,
    logits: Vec<f32>,
    staging: Vec<u8>,
}

impl Engine {
    /// Compiles the programs, reserves arenas and the cache's address space, registers weights.
    pub fn new(parts: EngineParts, params: Params) -> Result<Engine, RuntimeError> {
        let window = parts.model.config.window.as_ref().map(|w| w.positions);
        let kv = KvCache::new(params.n_seq, params.body.n_ctx, params.n_ubatch, window);
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
        refuse_nothing(&params)?;
        self.refuse_another_cache(&params)?;
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

    /// The program from hidden rows to logits.
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

    /// Appends each item's tokens to its sequence. `sink` gets (item, token of the item, logits) for every row
    /// asked for, in order. After an error the sequences have the positions that they had before; where a sliding
    /// window has let go of what those see, none.
    pub fn process(
        &mut self,
        items: &[Item],
        sink: &mut dyn FnMut(usize, usize, &[f32]),
    ) -> Result<(), RuntimeError> {
        self.check(items)?;
        // A sequence may be in several items, and is put back once.
        let lengths: BTreeMap<_, _> =
            items.iter().map(|i| Ok((i.seq, self.kv.len(i.seq)?))).collect::<Result<_, RuntimeError>>()?;
        let result = self.run_batches(items, sink);
        if result.is_err() {
            for (seq, len) in lengths {
                match self.truncate(seq, len) {
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
        sink: &mut dyn FnMut(usize, usize, &[f32]),
    ) -> Result<(), RuntimeError> {
        for batch in cut(items, &self.body.capacity) {
            self.run_body(items, &batch)?;
            self.run_head(items, &batch, sink)?;
        }
        Ok(())
    }

    /// Everything that can be refused is refused before anything is computed.
    fn check(&self, items: &[Item]) -> Result<(), RuntimeError> {
        if items.is_empty() || items.iter().any(|i| i.tokens.is_empty()) {
            return Err(RuntimeError::EmptyBatch);
        }
        let (n_vocab, n_ctx) = (self.parts.model.config.n_vocab, self.params.body.n_ctx);
        let mut lengths: HashMap<SeqId, usize> = HashMap::new();
        for item in items {
            let bad = item.tokens.iter().position(|t| *t as usize >= n_vocab);
            if let Some(index) = bad {
                return Err(RuntimeError::TokenOutOfRange { index, id: item.tokens[index], n_vocab });
            }
            let needed = lengths.entry(item.seq).or_insert(self.kv.len(item.seq)?);
            *needed += item.tokens.len();
            if *needed > n_ctx {
                return Err(RuntimeError::ContextFull { needed: *needed, n_ctx });
            }
        }
        Ok(())
    }

    /// Fills the cache with a batch and leaves its hidden rows in `buffers.hidden`.
    fn run_body(&mut self, items: &[Item], batch: &[Piece]) -> Result<(), RuntimeError> {
        let mut ids = BatchIds::default();
        let mut seen = Seen::default();
        let window = self.parts.model.config.window.as_ref().map(|w| w.positions);
        let pages_a_sequence = self.params.body.n_ctx.div_ceil(PAGE_POSITIONS);
        for (row, piece) in batch.iter().enumerate() {
            let Item { seq, tokens, .. } = items[piece.item];
            self.kv.reserve(seq, piece.tokens.len(), &mut self.parts.devices)?;
            let before = self.kv.len(seq)?;
            seen.add(before, piece.tokens.len(), window);
            let first = before as i32;
            let outputs_from = ids.tokens.len() as i32 - piece.tokens.start as i32;
            ids.tokens.extend(tokens[piece.tokens.clone()].iter().map(|t| *t as i32));
            ids.positions.extend((0..piece.tokens.len() as i32).map(|i| first + i));
            ids.sequences.extend(piece.tokens.clone().map(|_| row as i32));
            ids.outputs.extend(piece.outputs.clone().map(|o| outputs_from + o as i32));
        }
        let seqs: Vec<SeqId> = batch.iter().map(|piece| items[piece.item].seq).collect();
        let tables = self.kv.tables(&seqs, pages_a_sequence, 0)?;
        let tables_window = self.kv.tables(&seqs, pages_a_sequence, 1)?;
        let extents =
            Extents { tokens: ids.tokens.len(), outputs: ids.outputs.len(), sequences: batch.len() };
        let body = self.program(GraphKind::Body, &extents)?;
        let devices = &mut self.parts.devices;
        executor::begin(devices, &body)?;
        let filled = [
            (inputs::TOKEN_IDS, &ids.tokens),
            (inputs::POSITIONS, &ids.positions),
            (inputs::SEQUENCES, &ids.sequences),
            (inputs::PAGE_TABLES, &tables),
            (inputs::PAGE_TABLES_WINDOW, &tables_window),
            (inputs::OUT_IDS, &ids.outputs),
        ];
        for (name, numbers) in filled {
            self.buffers.bytes.clear();
            self.buffers.bytes.extend(numbers.iter().flat_map(|n| n.to_ne_bytes()));
            executor::write_input(devices, &body, name, &self.buffers.bytes)?;
        }
        let staging = &mut self.buffers.staging;
        match &mut self.profile {
            None => executor::run(devices, &body, &extents, staging)?,
            Some(profile) => profile::run(devices, &body, &extents, staging, profile, &seen)?,
        }
        let row_bytes = self.parts.model.config.n_embd * size_of::<f32>();
        self.buffers.hidden.resize(extents.outputs * row_bytes, 0);
        executor::read_output(devices, &body.outputs[0], &mut self.buffers.hidden)?;
        for device in devices.iter_mut() {
            device.synchronize()?;
        }
        for piece in batch {
            self.kv.advance(items[piece.item].seq, piece.tokens.len(), &mut self.parts.devices)?;
        }
        Ok(())
    }

    /// Turns `buffers.hidden` into logits, in pieces of the head's rows.
    fn run_head(
        &mut self,
        items: &[Item],
        batch: &[Piece],
        sink: &mut dyn FnMut(usize, usize, &[f32]),
    ) -> Result<(), RuntimeError> {
        let row_bytes = self.parts.model.config.n_embd * size_of::<f32>();
        let n_vocab = self.parts.model.config.n_vocab;
        let rows: Vec<(&Piece, usize)> =
            batch.iter().flat_map(|p| p.outputs.clone().map(move |o| (p, o))).collect();
        let hidden = std::mem::take(&mut self.buffers.hidden);
        for (piece, rows) in rows.chunks(self.params.head_rows).enumerate() {
            let first = piece * self.params.head_rows * row_bytes;
            let extents = Extents { tokens: rows.len(), outputs: rows.len(), sequences: 1 };
            let head = self.program(GraphKind::Head, &extents)?;
            let devices = &mut self.parts.devices;
            executor::begin(devices, &head)?;
            let bytes = &hidden[first..first + rows.len() * row_bytes];
            executor::write_input(devices, &head, inputs::HIDDEN, bytes)?;
            let staging = &mut self.buffers.staging;
            match &mut self.profile {
                None => executor::run(devices, &head, &extents, staging)?,
                Some(profile) => profile::run(devices, &head, &extents, staging, profile, &Seen::default())?,
            }
            self.buffers.logits.resize(rows.len() * n_vocab, 0.0);
            let logits = bytemuck::cast_slice_mut(&mut self.buffers.logits);
            executor::read_output(devices, &head.outputs[0], logits)?;
            for ((piece, token), logits) in rows.iter().zip(self.buffers.logits.chunks(n_vocab)) {
                self.refuse_bad_logits(items[piece.item].seq, piece.tokens.end - token, logits)?;
                sink(piece.item, *token, logits);
            }
        }
        self.buffers.hidden = hidden;
        Ok(())
    }

    /// `back` counts from the end of the sequence: 1 is its last position.
    fn refuse_bad_logits(&self, seq: SeqId, back: usize, logits: &[f32]) -> Result<(), RuntimeError> {
        // One sum finds any NaN or infinity in a pass that vectorizes; only then look for it.
        if logits.iter().map(|x| x * 0.0).sum::<f32>() == 0.0 {
            return Ok(());
        }
        let found = logits.iter().enumerate().find(|(_, x)| !x.is_finite());
        let Some((token, value)) = found else { return Ok(()) };
        let position = self.kv.len(seq)? - back;
        Err(RuntimeError::BadLogits { seq, position, token, value: *value })
    }

    fn refuse_another_cache(&self, params: &Params) -> Result<(), RuntimeError> {
        let changed = |what, exists: String, asked: String| match exists == asked {
            true => Ok(()),
            false => Err(RuntimeError::CacheChanged { what, exists, asked }),
        };
        let (old, new) = (&self.params, params);
        changed("the context", old.body.n_ctx.to_string(), new.body.n_ctx.to_string())?;
        changed("the type of cached keys", old.body.type_k.to_string(), new.body.type_k.to_string())?;
        changed("the type of cached values", old.body.type_v.to_string(), new.body.type_v.to_string())?;
        changed("the number of sequences", old.n_seq.to_string(), new.n_seq.to_string())?;
        // Windows hold one batch beside what they see.
        if self.parts.model.config.window.is_some() && new.n_ubatch > self.n_ubatch_max {
            let exists = format!("{} tokens at most, with sliding windows", self.n_ubatch_max);
            let asked = new.n_ubatch.to_string();
            return Err(RuntimeError::CacheChanged { what: "the batch", exists, asked });
        }
        Ok(())
    }
}

fn refuse_nothing(params: &Params) -> Result<(), RuntimeError> {
    let sizes = [
        ("the context", params.body.n_ctx),
        ("the number of sequences", params.n_seq),
        ("the batch size", params.n_ubatch),
        ("the number of outputs", params.n_outputs),
        ("the number of head rows", params.head_rows),
    ];
    match sizes.into_iter().find(|(_, n)| *n == 0) {
        Some((what, _)) => Err(RuntimeError::Zero { what }),
        None => Ok(()),
    }
}

/// Numbers of one batch.
#[derive(Default)]
struct BatchIds {
    tokens: Vec<i32>,
    positions: Vec<i32>,
    sequences: Vec<i32>,
    outputs: Vec<i32>,
}
