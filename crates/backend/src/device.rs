//! The pure half of a device: what it can do.

use graph::{DType, Extents, InPlace, Op, Shape};

/// Fused operations that a device has kernels for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Fused {
    /// Norms and SwiGLU that write quantized activations.
    pub quantize: bool,
    /// Several products of one input in one call.
    pub mat_mul_many: bool,
    /// Gate and up products that are never stored.
    pub mat_mul_glu: bool,
    /// Products that are added to the residual stream where it is.
    pub mat_mul_add: bool,
    /// Bias, rotation and store in one call.
    pub bias_rope_store: bool,
    /// Residual addition and the norm after it.
    pub add_norm: bool,
}

impl Fused {
    /// Every fused operation.
    pub const ALL: Fused = Fused {
        quantize: true,
        mat_mul_many: true,
        mat_mul_glu: true,
        mat_mul_add: true,
        bias_rope_store: true,
        add_norm: true,
    };
    /// None of them.
    pub const NONE: Fused = Fused {
        quantize: false,
        mat_mul_many: false,
        mat_mul_glu: false,
        mat_mul_add: false,
        bias_rope_store: false,
        add_norm: false,
    };
}

/// What a device can do, as data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caps {
    /// For dumps and errors.
    pub name: String,
    /// Windows begin at multiples of this many bytes.
    pub arena_align: usize,
    /// The largest arena, if there is a limit.
    pub arena_limit: Option<usize>,
    /// Which fused operations it has.
    pub fused: Fused,
}

/// What compilation asks of a device.
pub trait Device {
    /// Its capabilities.
    fn caps(&self) -> &Caps;

    /// Whether it has a kernel for the operation on inputs of these types; the reason if it has not.
    fn supports(&self, op: &Op, inputs: &[DType]) -> Result<(), String>;

    /// The type of activations that its product with weights of this type reads.
    fn activations(&self, weight: DType) -> DType;

    /// Whether its kernel can write the output over the input.
    fn writes_in_place(&self, op: &Op, right: InPlace) -> bool;

    /// Working memory of a call, for any run within `capacity`.
    fn scratch_bytes(&self, op: &Op, inputs: &[(Shape, DType)], capacity: &Extents) -> usize;
}
