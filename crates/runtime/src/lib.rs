//! Runs programs: weights by name, KV pages, a cache of programs, and the loop over splits.
//!
//! An [`Engine`] owns devices and sequences. Everything that decides where a byte lives was decided by
//! compilation: nothing here changes a plan.

mod batch;
mod batch_inputs;
mod blueprint;
mod cache;
mod engine;
mod error;
mod executor;
mod pages;
mod profile;
mod program_cache;
mod programs;
mod verify;

pub use batch::{Item, Rows};
pub use blueprint::{ArenaNeeds, Blueprint, PlannedGraph};
pub use engine::{Engine, EngineParts, Held, Memory, Params, Placement, WeightSource};
pub use error::RuntimeError;
pub use pages::{PageCopy, Pages, SeqId};
pub use profile::{Profile, ProfileRow};
pub use program_cache::{GraphKind, ProgramCache, ProgramKey};

pub use compile::Verify;
