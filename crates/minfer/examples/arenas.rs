//! What each step of planning takes off a model's arena: one line a step, each with all the steps before it.
//!
//! `cargo run --release -p minfer --example arenas -- qwen2 qwen2.5-0.5b Q4_0 512`
//!
//! The model is a preset of the `synthetic` crate, of which only the shapes are used. The last number is the tokens of a
//! batch, of which one row goes on to the head. Working memory is that of one thread of the plainest kernels, so that the
//! figures are the same on every machine.

use std::error::Error;

use backend::{Caps, Device, Fused};
use compile::{DeviceId, Options};
use cpu::{CpuDevice, Isa};
use graph::{DType, Extents, InPlace, Op, Shape};
use memplan::Strategy;
use minfer::human_bytes;
use models::{BodyParams, Model, Tensors};

/// A CPU whose attention writes its result beside its queries, where `beside` says so.
struct Cpu {
    cpu: CpuDevice,
    beside: bool,
}

impl Device for Cpu {
    fn caps(&self) -> &Caps {
        self.cpu.caps()
    }

    fn supports(&self, op: &Op, inputs: &[DType]) -> Result<(), String> {
        self.cpu.supports(op, inputs)
    }

    fn activations(&self, weight: DType) -> DType {
        self.cpu.activations(weight)
    }

    fn writes_in_place(&self, op: &Op, right: InPlace) -> bool {
        !(self.beside && matches!(op, Op::Attention(_))) && self.cpu.writes_in_place(op, right)
    }

    fn scratch_bytes(&self, op: &Op, inputs: &[(Shape, DType)], capacity: &Extents) -> usize {
        self.cpu.scratch_bytes(op, inputs, capacity)
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [arch, preset, quant, tokens] = &arguments[..] else {
        return Err("expected an architecture, a preset, a type of weights and a number of tokens".into());
    };
    let (metadata, tensors) = synthetic::header(arch, preset, quant, None)?;
    let model = Model::new(&metadata, Tensors::of_table(&tensors))?;
    let body = model.body(&BodyParams::new(4096, DType::F16))?;
    let capacity = Extents { tokens: tokens.parse()?, outputs: 1, sequences: 1 };

    let plain = Options { fusions: Fused::NONE, in_place: false, ..Options::new(capacity) };
    let packed = Options { in_place: true, ..plain };
    let with = |fusions| Options { fusions, ..packed };
    let glu = Fused { mat_mul_glu: true, ..Fused::NONE };
    let quantize = Fused { quantize: true, ..glu };
    let add = Fused { mat_mul_add: true, ..quantize };
    let steps = [
        ("a buffer for each value", true, Options { strategy: Strategy::Naive, ..plain }),
        ("buffers of size classes, reused", true, Options { strategy: Strategy::SizeClass, ..plain }),
        ("windows, packed", true, plain),
        ("results over their operands", true, packed),
        ("gate and up never stored", true, with(glu)),
        ("norms and GLU write quantized rows", true, with(quantize)),
        ("products added into the residual stream", true, with(add)),
        ("all other fusions", true, with(Fused::ALL)),
        ("attention over its queries", false, with(Fused::ALL)),
    ];
    for (what, beside, options) in steps {
        let device = Cpu { cpu: CpuDevice::new(Isa::Scalar, 1), beside };
        let devices: &compile::Devices = &[&device];
        let placed = compile::place(body.clone(), devices, &|_| DeviceId(0), &options.fusions)?;
        let memory = compile::plan(&placed, devices, &options)?;
        memory.check()?;
        let space = &memory.plan.spaces[0];
        let (bytes, bound) = (human_bytes(space.bytes), human_bytes(space.lower_bound));
        let fullest = &memory.problem.steps[space.bound_step.index()].name;
        println!("{what:<40} {bytes:>9}  at least {bound:>9}, at {fullest}");
    }
    Ok(())
}
