//! A model made ready to run: devices, memory, one sequence or several.

use std::sync::Arc;

use backend::{Backend, Fused};
use compile::DeviceId;
pub use cpu::kv::KV_TYPES;
use cpu::{Cpu, Isa, ThreadPool};
use graph::{DType, Graph, NodeId};
use models::{BodyParams, Output};
use runtime::{Engine, EngineParts, Memory, Params, Verify, WeightSource};

use crate::verify::verify;
use crate::weights::{Dequantized, Mapped};
use crate::{Error, MemoryLimit, Model, Plan, Verified};

/// How a session runs. None of it but the KV types and `reference` changes a result.
#[derive(Clone, Copy, Debug)]
pub struct SessionOptions {
    /// Logits, or hidden rows, of which embeddings are made: [`crate::Embedder`] asks for those. An encoder has no logits.
    pub output: Output,
    /// Positions of the context: [`crate::choose_context`] decides it.
    pub n_ctx: usize,
    /// Sequences in a batch.
    pub n_seq: usize,
    /// Contexts more that the cache has room for: what sequences that wait for their next text may keep.
    pub n_kept: usize,
    /// Tokens in a batch; of an encoder at least a context, since it reads a text at once.
    pub n_ubatch: usize,
    /// Tokens of a batch that logits are computed after; at least one a sequence. Who scores whole texts sets it to
    /// `n_ubatch`: batches are cut so that no more are asked for.
    pub n_outputs: usize,
    /// Rows of logits that are computed at a time; at least one a sequence, so that sequences that go on together read
    /// the head's weights once.
    pub head_rows: usize,
    /// Type of cached keys, one of [`KV_TYPES`]. Encoders keep nothing from batch to batch: theirs are F32 in any case.
    pub type_k: DType,
    /// Type of cached values, one of [`KV_TYPES`] too, whichever the keys have.
    pub type_v: DType,
    /// The tier of kernels; the best that there is if not given.
    pub isa: Option<Isa>,
    /// Fusions in use.
    pub fusions: Fused,
    /// Weights dequantized to f32 and an f32 cache: the yardstick of the quantized run.
    pub reference: bool,
    /// Hold the plan of memory against what happens: a first batch of the session's own with guards around every
    /// value, and all runs with unused memory poisoned. Slow, and changes no answer.
    pub verify_memory: bool,
    /// The most that the session may take; what would take more is refused before a weight is read.
    pub memory: Option<MemoryLimit>,
}

impl Default for SessionOptions {
    fn default() -> SessionOptions {
        SessionOptions {
            output: Output::Logits,
            n_ctx: 4096,
            n_seq: 1,
            n_kept: 0,
            n_ubatch: 256,
            n_outputs: 1,
            head_rows: 1,
            type_k: DType::F16,
            type_v: DType::F16,
            isa: None,
            fusions: Fused::ALL,
            reference: false,
            verify_memory: false,
            memory: None,
        }
    }
}

/// An engine for one model.
pub struct Session {
    pub(crate) model: Arc<Model>,
    pub(crate) engine: Engine,
    isa: Isa,
    verified: Option<Verified>,
    pub(crate) options: SessionOptions,
    threads: usize,
}

impl Session {
    /// Plans, reserves and registers; no weight is read before the first run, which is done here where memory is to be
    /// verified.
    pub fn new(model: Arc<Model>, pool: Arc<ThreadPool>, options: &SessionOptions) -> Result<Session, Error> {
        let arch = model.config().arch;
        if arch.encoder && options.output == Output::Logits {
            return Err(Error::Encoder { arch: arch.name });
        }
        let params = params(&model, options)?;
        let isa = tier(options)?;
        let threads = pool.threads();
        model.check_limit(options, threads)?;
        let (shapes, weights): (_, Arc<dyn WeightSource>) = if options.reference {
            (model.model.dequantized(), Arc::new(Dequantized(model.file.clone())))
        } else {
            (model.model.clone(), Arc::new(Mapped(model.file.clone())))
        };
        let devices: Vec<Box<dyn Backend>> = vec![Box::new(Cpu::new(pool, isa))];
        let placement = Box::new(on_the_cpu);
        let mut engine = Engine::new(EngineParts { model: shapes, devices, placement, weights }, params)?;
        let verified = options.verify_memory.then(|| verify(&mut engine)).transpose()?;
        Ok(Session { model, engine, isa, verified, options: *options, threads })
    }

    /// The model.
    pub fn model(&self) -> &Arc<Model> {
        &self.model
    }

    /// The engine, for callers that keep several sequences.
    pub fn engine(&mut self) -> &mut Engine {
        &mut self.engine
    }

    /// Refuses to go on with rows that are no logits.
    pub(crate) fn expect_logits(&self) -> Result<(), Error> {
        if self.options.output == Output::Hidden { Err(Error::HiddenOnly) } else { Ok(()) }
    }

    /// The tier in use.
    pub fn isa(&self) -> Isa {
        self.isa
    }

    /// What was found out about memory, if that was asked for.
    pub fn verified(&self) -> Option<Verified> {
        self.verified
    }

    /// Positions of the context.
    pub fn n_ctx(&self) -> usize {
        self.engine.params().body.n_ctx
    }

    /// The session's plan with so many positions in each sequence.
    pub fn plan(&self, tokens: usize) -> Result<Plan, Error> {
        self.model.plan(&self.options, self.threads, Some(tokens))
    }

    /// Bytes held now.
    pub fn memory(&self) -> Memory {
        self.engine.memory()
    }
}

/// Every node goes to the only device.
pub(crate) fn on_the_cpu(_: &Graph, _: NodeId) -> DeviceId {
    DeviceId(0)
}

/// The tier that is asked for, or the best; one that the machine lacks is an error.
pub(crate) fn tier(options: &SessionOptions) -> Result<Isa, Error> {
    let isa = options.isa.unwrap_or_else(Isa::detect);
    isa.is_available().map_err(|missing| Error::Isa { isa: isa.name(), missing })?;
    Ok(isa)
}

/// Checks the options against the model and each other.
pub(crate) fn params(model: &Model, options: &SessionOptions) -> Result<Params, Error> {
    let positive = [
        ("the context", options.n_ctx),
        ("the number of sequences", options.n_seq),
        ("the batch size", options.n_ubatch),
        ("the number of head rows", options.head_rows),
    ];
    if let Some((what, _)) = positive.into_iter().find(|(_, n)| *n == 0) {
        return Err(Error::Zero(what));
    }
    let encoder = model.config().arch.encoder;
    let cache_type = |asked| if options.reference || encoder { DType::F32 } else { asked };
    let (type_k, type_v) = (cache_type(options.type_k), cache_type(options.type_v));
    let head_dim = model.config().head_dim;
    for (option, kv_type) in [("--kv-type-k", type_k), ("--kv-type-v", type_v)] {
        if !KV_TYPES.contains(&kv_type) {
            return Err(Error::NoCacheType { option, kv_type });
        }
        let block = kv_type.block_elements();
        if !head_dim.is_multiple_of(block) {
            return Err(Error::CacheType { option, kv_type, block, head_dim });
        }
    }
    let n_ubatch = if encoder { options.n_ubatch.max(options.n_ctx) } else { options.n_ubatch };
    let n_ubatch = n_ubatch.min(options.n_ctx * options.n_seq);
    Ok(Params {
        output: options.output,
        body: BodyParams { n_ctx: options.n_ctx, type_k, type_v },
        n_seq: options.n_seq,
        n_kept: options.n_kept,
        n_ubatch,
        n_outputs: options.n_outputs.max(options.n_seq).min(n_ubatch),
        head_rows: options.head_rows.max(options.n_seq.min(n_ubatch)),
        fusions: options.fusions,
        verify: Verify::Off,
    })
}
