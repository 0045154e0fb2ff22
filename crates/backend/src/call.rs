//! One operation as a device sees it: parameters, and where every operand lives.

use graph::{DType, Extents, Op, Shape};

/// Bytes of a device's arena.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Window {
    /// Where it begins in the arena.
    pub offset: usize,
    /// How long it is at the capacity that the program is compiled for.
    pub bytes: usize,
}

/// A weight that a device knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize)]
pub struct WeightHandle(pub u32);

/// Where an operand lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub enum At {
    /// In the arena of the device.
    Arena(Window),
    /// A registered weight; before binding, its number in the program's list.
    Weight(WeightHandle),
    /// An output that nobody reads.
    Nowhere,
}

/// A value as an operand of a call. The shape's symbols get their numbers with each run.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Operand {
    /// Dimensions, fastest first.
    pub shape: Shape,
    /// Element type.
    pub dtype: DType,
    /// Where the bytes are.
    pub at: At,
}

impl Operand {
    /// Bytes in a run with these extents.
    pub fn bytes(&self, extents: &Extents) -> usize {
        self.shape.bytes(self.dtype, extents)
    }
}

/// One operation with its operands. Input and output windows that begin at the same offset are the same
/// storage: the operation works in place.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Call {
    /// What to compute.
    pub op: Op,
    /// Where the inputs are.
    pub inputs: Vec<Operand>,
    /// Where the outputs go.
    pub outputs: Vec<Operand>,
    /// Planned working memory, as large as the device asked for.
    pub scratch: Option<Window>,
    /// The node's name, for traces and errors.
    pub name: String,
}
