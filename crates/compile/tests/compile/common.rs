//! Short ways to build graphs, to plan them and to ask where things are.

use std::ops::Range;

use backend::{Device, Fused, Null};
use compile::{DeviceId, MemoryPlan, Options, Placed, Program};
use gguf::GgufFile;
use graph::op::{Add, MatMul, RmsNorm};
use graph::{Builder, DType, Extents, Graph, NodeId, Shape, Symbol, ValueId};
use models::{BodyParams, Model, Tensors};

/// Elements of a row of the small graphs.
pub const N: usize = 64;
/// Tokens that the small graphs are planned for: every value is 1024 bytes.
pub const CAPACITY: Extents = Extents { tokens: 4, outputs: 4, sequences: 1 };

/// `[N, Tokens]`
pub fn rows() -> Shape {
    Shape::matrix(N, Symbol::Tokens)
}

/// Builds graphs of three operations: one that may write over its input, one that may not, one of two inputs.
#[derive(Default)]
pub struct Small(pub Builder);

impl Small {
    pub fn input(&mut self, name: &str) -> ValueId {
        self.0.input(name, rows(), DType::F32)
    }

    /// Cannot work in place.
    pub fn product(&mut self, name: &str, x: ValueId) -> ValueId {
        let weight = self.0.weight("square", Shape::matrix(N, N), DType::F32);
        self.0.one(name, MatMul, &[x, weight]).unwrap()
    }

    /// Can work in place.
    pub fn norm(&mut self, name: &str, x: ValueId) -> ValueId {
        let weight = self.0.weight("scale", Shape::row(N), DType::F32);
        self.0.one(name, RmsNorm { eps: 1e-5, to: DType::F32 }, &[x, weight]).unwrap()
    }

    /// Can work in place of either.
    pub fn add(&mut self, name: &str, a: ValueId, b: ValueId) -> ValueId {
        self.0.one(name, Add, &[a, b]).unwrap()
    }

    /// The graph, which ends in this value.
    pub fn ending_in(mut self, value: ValueId) -> Graph {
        self.0.output(value);
        self.0.finish()
    }
}

/// `count` devices that can do everything.
pub fn nulls(count: usize) -> Vec<Null> {
    (0..count).map(|i| Null::new(&format!("null{i}"))).collect()
}

pub fn as_devices(devices: &[Null]) -> Vec<&dyn Device> {
    devices.iter().map(|d| d as &dyn Device).collect()
}

/// A graph that was placed without fusions, with its plan, which was checked.
pub struct Planned {
    pub placed: Placed,
    pub memory: MemoryPlan,
    pub program: Program,
}

/// Plans a small graph on two devices; `on_second` says which nodes go to the second.
pub fn planned_on(graph: Graph, on_second: &dyn Fn(&str) -> bool, in_place: bool) -> Planned {
    let nulls = nulls(2);
    let devices = as_devices(&nulls);
    let preferred: Vec<_> = graph.nodes.iter().map(|n| DeviceId(usize::from(on_second(&n.name)))).collect();
    let prefer = |id: NodeId| preferred[id.0 as usize];
    let placed = compile::place(graph, &devices, &prefer, &Fused::NONE).unwrap();
    let options = Options { in_place, ..Options::new(CAPACITY) };
    let memory = compile::plan(&placed, &devices, &options).unwrap();
    memory.check().unwrap();
    let program = compile::schedule(&placed, &devices, &memory, &options);
    Planned { placed, memory, program }
}

/// Plans a small graph on one device, in place where that may be.
pub fn planned(graph: Graph) -> Planned {
    planned_on(graph, &|_| false, true)
}

impl Planned {
    /// The bytes of a value on the first device.
    pub fn at(&self, value: ValueId) -> Range<u64> {
        self.on(value, 0)
    }

    /// The bytes of a value on a device.
    #[track_caller]
    pub fn on(&self, value: ValueId, device: usize) -> Range<u64> {
        let (offset, bytes) = self.memory.window(value, DeviceId(device)).expect("the value has memory");
        offset..offset + bytes
    }
}

pub fn overlap(a: &Range<u64>, b: &Range<u64>) -> bool {
    a.start < b.end && b.start < a.end
}

/// The architectures, and of those that have windows enough layers for both kinds.
pub const ARCHITECTURES: [(&str, usize); 7] =
    [("llama", 2), ("qwen2", 2), ("qwen3", 2), ("qwen3moe", 2), ("gemma2", 3), ("gemma3", 7), ("phi3", 2)];

/// A random model of so many layers.
pub fn model(arch: &str, preset: &str, quant: &str, layers: usize) -> Model {
    model_with(arch, preset, quant, layers, &[])
}

/// The same with more keys.
pub fn model_with(arch: &str, preset: &str, quant: &str, layers: usize, keys: &[(&str, u32)]) -> Model {
    let bytes = synthetic::build(arch, preset, quant, 1, Some(layers)).unwrap();
    let file = GgufFile::from_bytes(&bytes).unwrap();
    let mut metadata = file.metadata().clone();
    for (key, value) in keys {
        metadata.insert(*key, *value).unwrap();
    }
    Model::new(&metadata, Tensors::of(&file)).unwrap()
}

/// Its body for a context of 128 and an f16 cache.
pub fn body(model: &Model) -> Graph {
    model.body(&BodyParams::new(128, DType::F16)).unwrap()
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

/// Devices of nodes by layer: the last layer on the second device.
pub fn last_layer_on_second(graph: &Graph) -> Vec<DeviceId> {
    let last = graph.nodes.iter().filter_map(|n| n.layer).max();
    graph.nodes.iter().map(|n| DeviceId(usize::from(n.layer.is_some() && n.layer == last))).collect()
}
