//! CPU kernels.
#![allow(unsafe_code)] // SIMD and raw windows of arenas.

pub mod attention;
pub mod elementwise;
pub mod float_env;
pub mod isa;
pub mod kv;
pub mod math;
pub mod matmul;
pub mod norm;
pub mod pool;
pub mod quantize;
pub mod rope;
