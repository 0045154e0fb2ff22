//! The operations, one file each: parameters, shape rule and facts side by side.

mod add;
mod add_norm;
mod attention;
mod gelu;
mod get_rows;
mod glu;
mod kv_store;
mod layer_norm;
mod mat_mul;
mod mat_mul_add;
mod mat_mul_glu;
mod mat_mul_id;
mod quantize;
mod rms_norm;
mod rope;
mod rope_table;
mod route_experts;
mod scale;
mod soft_cap;
mod sum_experts;
mod view;
mod work;

pub use add::Add;
pub use add_norm::AddNorm;
pub use attention::Attention;
pub use gelu::Gelu;
pub use get_rows::GetRows;
pub use glu::{Activation, Glu};
pub use kv_store::KvStore;
pub use layer_norm::LayerNorm;
pub use mat_mul::MatMul;
pub use mat_mul_add::MatMulAdd;
pub use mat_mul_glu::MatMulGlu;
pub use mat_mul_id::MatMulId;
pub use quantize::Quantize;
pub use rms_norm::RmsNorm;
pub use rope::{Rope, RopePairs};
pub use rope_table::{RopeScaling, RopeTable};
pub use route_experts::RouteExperts;
pub use scale::Scale;
pub use soft_cap::SoftCap;
pub use sum_experts::SumExperts;
pub use view::View;
pub use work::Work;

use serde::{Deserialize, Serialize};

use crate::{DType, Dim, Extents, RegionId, Shape};

/// An output that may be written over an input: the kernel reads each element of the input before it
/// writes the same element of the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InPlace {
    /// Which output.
    pub output: usize,
    /// Which input.
    pub input: usize,
}

/// All that a pass may know of an operation.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OpFacts {
    /// The operation's name in dumps, plans and traces.
    pub label: &'static str,
    /// Rights to write over inputs.
    pub in_place: Vec<InPlace>,
    /// The output is a window into input 0; nothing is computed.
    pub view: bool,
    /// Input 0 are activations that input 1 multiplies: a device may want them in the type of its kernels.
    pub product: bool,
    /// Persistent regions read.
    pub reads: Vec<RegionId>,
    /// Persistent regions written.
    pub writes: Vec<RegionId>,
}

/// Shape and type of a value, as shape rules see it.
pub type Meta = (Shape, DType);

/// What an operation's file provides.
pub trait Operation {
    /// What passes may know.
    fn facts(&self) -> OpFacts;

    /// The outputs' shapes and types, or what is wrong with the inputs.
    fn infer(&self, inputs: &[Meta]) -> Result<Vec<Meta>, String>;

    /// What a run takes.
    fn work(&self, inputs: &[Meta], outputs: &[Meta], extents: &Extents) -> Work {
        Work::of_operands(inputs, outputs, extents)
    }
}

macro_rules! operations {
    ($($name:ident),* $(,)?) => {
        /// An operation with its parameters.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        pub enum Op {
            $(
                #[doc = concat!("See [`", stringify!($name), "`].")]
                $name($name),
            )*
        }

        impl Op {
            fn operation(&self) -> &dyn Operation {
                match self { $(Op::$name(op) => op,)* }
            }
        }

        $(impl From<$name> for Op {
            fn from(op: $name) -> Op { Op::$name(op) }
        })*
    };
}

operations!(
    GetRows,
    RmsNorm,
    Quantize,
    MatMul,
    RopeTable,
    Rope,
    KvStore,
    Attention,
    Glu,
    Add,
    View,
    AddNorm,
    MatMulGlu,
    MatMulAdd,
    Scale,
    SoftCap,
    RouteExperts,
    MatMulId,
    SumExperts,
    LayerNorm,
    Gelu,
);

impl Op {
    /// What passes may know.
    pub fn facts(&self) -> OpFacts {
        self.operation().facts()
    }

    /// The outputs' shapes and types, or what is wrong with the inputs.
    pub fn infer(&self, inputs: &[Meta]) -> Result<Vec<Meta>, String> {
        self.operation().infer(inputs)
    }

    /// What a run with these extents takes.
    pub fn work(&self, inputs: &[Meta], outputs: &[Meta], extents: &Extents) -> Work {
        self.operation().work(inputs, outputs, extents)
    }
}

/// Refuses another number of inputs.
fn expect_inputs(inputs: &[Meta], expected: usize) -> Result<(), String> {
    if inputs.len() == expected {
        return Ok(());
    }
    Err(format!("expected {expected} inputs, found {}", inputs.len()))
}

/// Refuses an input of another type.
fn expect_type(inputs: &[Meta], index: usize, expected: DType) -> Result<(), String> {
    let found = inputs[index].1;
    if found == expected {
        return Ok(());
    }
    Err(format!("input {index}: expected type {expected}, found {found}"))
}

/// Refuses an input of another shape.
fn expect_shape(inputs: &[Meta], index: usize, expected: Shape) -> Result<(), String> {
    let found = inputs[index].0;
    if found == expected {
        return Ok(());
    }
    Err(format!("input {index}: expected shape {expected}, found {found}"))
}

/// The fixed row length of an input.
fn columns(inputs: &[Meta], index: usize) -> Result<usize, String> {
    inputs[index].0.columns().ok_or_else(|| format!("input {index}: the row length is not fixed"))
}

/// F32, or A32 where rows are whole blocks of it.
fn expect_row_type(to: DType, columns: usize) -> Result<(), String> {
    match to {
        DType::F32 => Ok(()),
        DType::A32 if columns.is_multiple_of(DType::A32.block_elements()) => Ok(()),
        DType::A32 => Err(format!("rows of {columns} are not whole blocks of 32")),
        other => Err(format!("cannot write rows of type {other}")),
    }
}
