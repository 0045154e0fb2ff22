//! The compute graph.

mod dtype;

pub use dtype::{A32_ROW_ALIGN, DType};
