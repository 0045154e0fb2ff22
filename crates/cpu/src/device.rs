//! The pure half of the CPU: what it can do, without threads or memory.

use backend::{Caps, Device, Fused};
use graph::{DType, Extents, InPlace, Op, Shape};

use crate::{Isa, matmul, op};

/// What a CPU with a tier of kernels and a number of threads can do, and how much working memory it takes. Enough to
/// plan for a machine, this one or another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CpuDevice {
    caps: Caps,
    isa: Isa,
    threads: usize,
}

impl CpuDevice {
    /// Whether the machine has the tier is not asked.
    pub fn new(isa: Isa, threads: usize) -> CpuDevice {
        let caps = Caps { name: "cpu".to_owned(), arena_align: 64, arena_limit: None, fused: Fused::ALL };
        CpuDevice { caps, isa, threads }
    }

    /// The tier.
    pub fn isa(&self) -> Isa {
        self.isa
    }
}

impl Device for CpuDevice {
    fn caps(&self) -> &Caps {
        &self.caps
    }

    fn supports(&self, op: &Op, inputs: &[DType]) -> Result<(), String> {
        op::supports(op, inputs)
    }

    fn activations(&self, weight: DType) -> DType {
        matmul::activation_dtype(weight)
    }

    fn writes_in_place(&self, _: &Op, _: InPlace) -> bool {
        // Every kernel reads an element before it writes the same element.
        true
    }

    fn scratch_bytes(&self, op: &Op, inputs: &[(Shape, DType)], capacity: &Extents) -> usize {
        op::scratch_bytes_a_thread(self.isa, op, inputs, capacity).next_multiple_of(64) * self.threads
    }
}
