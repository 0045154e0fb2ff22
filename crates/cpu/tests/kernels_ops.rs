//! Norms, rotations, the cache, attention and the pool, against the reference and tier against tier.
#![allow(unsafe_code)] // The kernels work on pointers.

#[path = "kernels_ops/attention.rs"]
mod attention;
#[path = "kernels_ops/float_env.rs"]
mod float_env;
#[path = "kernels_ops/math.rs"]
mod math;
#[path = "kernels_ops/pool.rs"]
mod pool;
#[path = "kernels_ops/rows.rs"]
mod rows;
#[path = "kernels_ops/support.rs"]
mod support;
