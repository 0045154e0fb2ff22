//! The CPU as a device: kernels, a thread pool, and the backend that runs calls with them.
//!
//! `NUMERICS.md` gives the exact expression of every operation; the scalar kernels are those expressions and
//! every other tier gives the same bits. Work is split over threads by rows, heads, tokens and fixed ranges of
//! positions, never by a share that depends on their number. Nothing here plans memory or allocates while calls run.
#![allow(unsafe_code)] // SIMD, and windows of one arena that several threads write.

mod backend;
mod device;
mod memory;
mod op;

pub mod attention;
pub mod elementwise;
pub mod float_env;
pub mod isa;
pub mod kv;
pub mod limits;
pub mod math;
pub mod matmul;
pub mod norm;
pub mod pool;
pub mod quantize;
pub mod rope;
#[cfg(target_arch = "aarch64")]
mod sdot;

/// Counts changes of the numbers that a model leaves in its KV cache and gives as logits. Raise it with every change of an
/// expression of `NUMERICS.md`, of how a row of the cache is stored, or of what a graph of `models` computes: caches that were
/// saved before are then refused, where they would go on with other answers than a run from the beginning.
pub const NUMERICS_VERSION: u32 = 1;

pub use crate::backend::Cpu;
pub use device::CpuDevice;
pub use isa::{Isa, brand};
pub use pool::{ThreadPool, Topology, default_threads};
