//! Small models, engines for them, and comparison of logits bit for bit.

use std::ops::Range;
use std::sync::Arc;

use backend::{Backend, Fused, SharedBytes};
use compile::DeviceId;
use cpu::{Cpu, Isa, ThreadPool};
use gguf::{GgufFile, TensorInfo};
use graph::DType;
use models::{BodyParams, Model, Tensors};
use runtime::{Engine, EngineParts, Item, Params, Placement, Rows, SeqId, Verify, WeightSource};

/// A model and the type of its cache. Micro has heads of 16 elements, tiny of 64.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    pub arch: &'static str,
    pub preset: &'static str,
    pub quant: &'static str,
    pub kv: DType,
}

const fn case(arch: &'static str, preset: &'static str, quant: &'static str, kv: DType) -> Case {
    Case { arch, preset, quant, kv }
}

/// Kinds of layers, of weights and of caches, not every combination.
pub const CASES: [Case; 10] = [
    case("llama", "micro", "F32", DType::F16),
    case("qwen2", "micro", "Q8_0", DType::F32),
    case("llama", "micro", "Q4_0", DType::F16),
    case("qwen2", "micro", "Q4_1", DType::F16),
    case("llama", "micro", "BF16", DType::F32),
    case("qwen2", "micro", "F16", DType::BF16),
    case("llama", "tiny", "Q8_0", DType::Q8_0),
    case("qwen2", "tiny", "F16", DType::Q4_0),
    case("qwen3", "micro", "Q4_0", DType::Q8_0),
    MOE,
];

/// Experts.
pub const MOE: Case = case("qwen3moe", "micro", "Q8_0", DType::F16);

/// Layers with windows of 16 positions and layers without: seven, of which the sixth is full, and three, of which
/// the second is.
pub const WINDOWED: [Case; 2] =
    [case("gemma3", "micro", "Q8_0", DType::F16), case("gemma2", "micro", "F32", DType::Q8_0)];

/// Positions that windowed layers see.
pub const WINDOW: usize = 16;

/// Cases with and without windows.
pub fn all_cases() -> impl Iterator<Item = Case> {
    CASES.into_iter().chain(WINDOWED)
}

/// A case that is quick and uses everything: biases, quantized weights, f16 cache.
pub const QUICK: Case = CASES[3];

/// Weights in a file.
pub struct File(pub Arc<GgufFile>);

struct Tensor {
    file: Arc<GgufFile>,
    info: TensorInfo,
    bytes: Range<usize>,
}

impl AsRef<[u8]> for Tensor {
    fn as_ref(&self) -> &[u8] {
        &self.file.data(&self.info)[self.bytes.clone()]
    }
}

impl WeightSource for File {
    fn bytes(&self, name: &str) -> Option<SharedBytes> {
        let slice = models::slice(name);
        let info = self.0.tensor(slice.tensor)?.clone();
        let row_bytes = (info.bytes / info.ne(1)) as usize;
        let bytes = slice.rows.map_or(0..info.bytes as usize, |r| r.start * row_bytes..r.end * row_bytes);
        Some(Arc::new(Tensor { file: self.0.clone(), info, bytes }))
    }
}

/// What an engine is made for.
pub struct Setup {
    pub case: Case,
    pub params: Params,
    pub threads: usize,
    pub isa: Isa,
}

impl Setup {
    /// Room for 200 tokens of one sequence at once, all fusions, two threads.
    pub fn new(case: Case) -> Setup {
        let params = Params {
            output: models::Output::Logits,
            body: BodyParams::new(256, case.kv),
            n_seq: 1,
            n_kept: 0,
            n_ubatch: 200,
            n_outputs: 200,
            head_rows: 16,
            fusions: Fused::ALL,
            verify: Verify::Off,
        };
        Setup { case, params, threads: 2, isa: Isa::detect() }
    }

    pub fn file(&self) -> Arc<GgufFile> {
        let Case { arch, preset, quant, .. } = self.case;
        let bytes = synthetic::build(arch, preset, quant, 1, None).unwrap();
        Arc::new(GgufFile::from_bytes(&bytes).unwrap())
    }

    pub fn cpu(&self) -> Box<dyn Backend> {
        Box::new(Cpu::new(Arc::new(ThreadPool::new(self.threads)), self.isa))
    }

    /// An engine on one CPU.
    pub fn engine(&self) -> Engine {
        self.engine_with(&self.file())
    }

    /// The same with a file that is there already.
    pub fn engine_with(&self, file: &Arc<GgufFile>) -> Engine {
        self.engine_on(file, vec![self.cpu()], Box::new(|_, _| DeviceId(0)))
    }

    /// An engine on other devices.
    pub fn engine_on(
        &self,
        file: &Arc<GgufFile>,
        devices: Vec<Box<dyn Backend>>,
        placement: Placement,
    ) -> Engine {
        let model = Model::new(file.metadata(), Tensors::of(file)).unwrap();
        let weights = Arc::new(File(file.clone()));
        Engine::new(EngineParts { model, devices, placement, weights }, self.params).unwrap()
    }

    /// All logits of a prompt in a new sequence of a new engine.
    pub fn logits(&self, tokens: &[u32]) -> Vec<Vec<f32>> {
        let mut engine = self.engine();
        let seq = engine.create();
        append(&mut engine, seq, tokens)
    }
}

/// `n` tokens of the vocabulary of 320, another series for each seed.
pub fn tokens(n: usize, seed: u32) -> Vec<u32> {
    let mut state = 0x9e37_79b9 ^ seed.wrapping_mul(0x85eb_ca6b);
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        state % 320
    };
    (0..n).map(|_| next()).collect()
}

/// Appends tokens and returns the logits after each.
pub fn append(engine: &mut Engine, seq: SeqId, tokens: &[u32]) -> Vec<Vec<f32>> {
    append_many(engine, &[(seq, tokens)]).remove(0)
}

/// Appends tokens to several sequences in one call and returns the logits after each token of each item.
pub fn append_many(engine: &mut Engine, items: &[(SeqId, &[u32])]) -> Vec<Vec<Vec<f32>>> {
    let mut rows: Vec<Vec<Vec<f32>>> = vec![Vec::new(); items.len()];
    let items: Vec<Item> =
        items.iter().map(|(seq, tokens)| Item { seq: *seq, tokens, rows: Rows::All }).collect();
    let mut sink = |item: usize, token: usize, logits: &[f32]| {
        assert_eq!(token, rows[item].len(), "rows come in order");
        rows[item].push(logits.to_vec());
    };
    engine.process(&items, &mut sink).unwrap();
    for (item, rows) in items.iter().zip(&rows) {
        assert_eq!(rows.len(), item.tokens.len(), "a row a token");
    }
    rows
}

/// Fails at the first bit that differs.
#[track_caller]
pub fn assert_same_bits(expected: &[Vec<f32>], found: &[Vec<f32>], what: &str) {
    assert_eq!(expected.len(), found.len(), "{what}: number of rows");
    for (row, (e, f)) in expected.iter().zip(found).enumerate() {
        assert_eq!(e.len(), f.len(), "{what}: length of row {row}");
        for (token, (e, f)) in e.iter().zip(f).enumerate() {
            assert_eq!(e.to_bits(), f.to_bits(), "{what}: row {row}, token {token}: {e} and {f}");
        }
    }
}

/// All combinations of fusions.
pub fn fusion_switches() -> impl Iterator<Item = Fused> {
    (0..64u32).map(|bits| Fused {
        quantize: bits & 1 != 0,
        mat_mul_many: bits & 2 != 0,
        mat_mul_glu: bits & 4 != 0,
        bias_rope_store: bits & 8 != 0,
        add_norm: bits & 16 != 0,
        mat_mul_add: bits & 32 != 0,
    })
}
