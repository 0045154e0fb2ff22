//! Seeded random models of the supported architectures.
//!
//! [`write()`] and [`build`] make GGUF files that any engine loads: real tensor names, shapes and
//! metadata, a made-up tokenizer that works, and random weights scaled so that activations and
//! logits stay in a sane range. The text is noise; costs and code paths are those of the real
//! model. Equal arguments give equal bytes, on every machine.
//!
//! - Blocks of quantized types are filled directly with random codes and sane scales.
//! - Every tensor has a random stream of its own, made of the seed and its name, so that other
//!   numbers of layers leave the shared tensors as they are.
//! - [`llama_to_qwen2`] writes a llama model again as the qwen2 model that computes the same.
//! - To add an architecture: presets in `preset.rs`, its tensors in `tensors.rs`, its keys in
//!   `keys.rs`. To add a block type: a function and a line in `blocks.rs`. To add a mix of types: a
//!   line in `mix.rs`.

mod blocks;
mod error;
mod keys;
mod mix;
mod model;
mod preset;
mod rand;
mod tensors;
mod tokenizer;
mod twin;

pub use error::Error;
pub use mix::quants;
pub use model::{build, header, write};
pub use preset::{Caps, Experts, Preset, RopeFactors, presets};
pub use twin::llama_to_qwen2;
