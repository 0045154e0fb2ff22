//! Matrix products and the quantizer: against the reference, and each tier against the scalar one.
#![allow(unsafe_code)] // The kernels write through raw pointers.

mod mat_mul_add;
mod quantize;
mod reference_tolerance;
mod stored_blocks;
mod support;
mod tiers;
