//! Slow, obvious f32 kernels: the specification that every backend is compared with, within a tolerance.

pub mod attention;
pub mod elementwise;
pub mod kv;
pub mod matmul;
pub mod norm;
pub mod rope;
