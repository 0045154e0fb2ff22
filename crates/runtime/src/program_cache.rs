//! Programs, reused by their parameters alone.

use std::collections::HashMap;
use std::sync::Arc;

use backend::Fused;
use compile::{Program, Verify};
use graph::Extents;
use models::{BodyParams, Output};

use crate::RuntimeError;

/// Which of the model's graphs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum GraphKind {
    /// Token ids to hidden rows.
    Body,
    /// Hidden rows to logits, or normed.
    Head,
}

/// All that a program depends on beside the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ProgramKey {
    /// Which graph.
    pub kind: GraphKind,
    /// Context and KV types.
    pub body: BodyParams,
    /// What the head gives.
    pub output: Output,
    /// The largest batch.
    pub capacity: Extents,
    /// Fusions in use.
    pub fusions: Fused,
    /// What runs check.
    pub verify: Verify,
    /// Counts changes of the placement on devices.
    pub placement_version: u64,
    /// Counts changes of the weights.
    pub weights_version: u64,
}

/// Programs by key.
#[derive(Debug, Default)]
pub struct ProgramCache {
    programs: HashMap<ProgramKey, Arc<Program>>,
    misses: usize,
}

impl ProgramCache {
    /// The program of a key, made by `make` if it is not there.
    pub fn get(
        &mut self,
        key: ProgramKey,
        make: impl FnOnce() -> Result<Program, RuntimeError>,
    ) -> Result<Arc<Program>, RuntimeError> {
        if let Some(program) = self.programs.get(&key) {
            return Ok(program.clone());
        }
        self.misses += 1;
        let program = Arc::new(make()?);
        self.programs.insert(key, program.clone());
        Ok(program)
    }

    /// How often a program had to be made.
    pub fn misses(&self) -> usize {
        self.misses
    }
}
