//! What a session takes beside what is planned to the byte: an upper bound, close enough to count with.

use runtime::Blueprint;

use crate::Model;

/// Bytes that no plan places, as an upper bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OtherBytes {
    /// The vocabulary's tables.
    pub tokenizer: u64,
    /// The chat template, metadata, and the tables of tensors.
    pub tables: u64,
    /// The two programs.
    pub programs: u64,
    /// The touched part of the threads' stacks.
    pub stacks: u64,
    /// The program's own data and what the allocator holds back.
    pub base: u64,
}

/// A tensor's name and shape in the file's table, in the model's, and as a registered weight.
const TENSOR: u64 = 900;
/// A compiled template in bytes for each byte of its source, and the environment around it.
const TEMPLATE: (u64, u64) = (24, 96 << 10);
/// A call with its name, operands and parameters.
const CALL: u64 = 1000;
/// What kernels touch of a thread's stack.
const STACK: u64 = 48 << 10;
/// Relocated data of the binary, the C library, the main thread's stack, free lists of the allocator.
const BASE: u64 = 2048 << 10;

/// What is touched of the mapped program and its libraries.
pub(super) const CODE: u64 = 12 << 20;

impl OtherBytes {
    pub(super) fn of(model: &Model, blueprint: &Blueprint, threads: usize) -> OtherBytes {
        let metadata: u64 =
            model.file.metadata().iter().map(|(key, value)| key.len() as u64 + value.heap_bytes()).sum();
        let template = model.template_bytes().map_or(0, |bytes| bytes as u64 * TEMPLATE.0 + TEMPLATE.1);
        let calls = blueprint.body.placed.graph.nodes.len() + blueprint.head.placed.graph.nodes.len();
        OtherBytes {
            tokenizer: model.tokenizer().heap_bytes() as u64,
            tables: metadata + template + model.file.tensors().len() as u64 * TENSOR,
            programs: calls as u64 * CALL,
            stacks: threads as u64 * STACK,
            base: BASE,
        }
    }

    /// All of it.
    pub fn total(&self) -> u64 {
        self.tokenizer + self.tables + self.programs + self.stacks + self.base
    }
}
