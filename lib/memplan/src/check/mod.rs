//! Proves a plan by running the program on a map of who owns which bytes.
//!
//! Nothing here calls the planner or is called by it: only the plain data of problem and plan is common, so that a
//! mistake in one is not repeated in the other.

mod fault;
mod ownership;
mod report;
mod simulate;
mod storages;
mod windows;

pub use fault::Fault;

use crate::plan::Plan;
use crate::problem::{Named, Problem, StepId, ValueId};
use windows::Windows;

/// Verifies that a plan is right for a problem, whoever made it.
///
/// 1. Every window lies inside its space at the right alignment, every view inside its parent, and the windows of fresh
///    and persistent values are touched by nothing else.
/// 2. The program is run on a map from bytes to owners: every read must find its own bytes intact, no write may touch what its
///    step reads unless the problem allows that very pair, and what is pinned must be intact at the end.
/// 3. The table of storages tells the same story: storages that live at the same step do not overlap, each lives as long
///    as its members are in use and no longer, and is as large as they need and no larger.
/// 4. The report of each space is what the storages add up to.
///
/// Problem and plan are not trusted: ids out of range are faults as well.
///
/// # Errors
/// The first [`Fault`] found.
pub fn check(problem: &Problem, plan: &Plan) -> Result<(), Fault> {
    let windows = Windows::of(problem, plan)?;
    simulate::run(problem, &windows)?;
    storages::check(problem, plan, &windows)?;
    report::check(problem, plan)
}

/// A value with its name, for a fault.
fn value(problem: &Problem, index: usize) -> Named<ValueId> {
    Named { id: ValueId(index as u32), name: problem.values[index].name.clone() }
}

/// A step with its name, for a fault.
fn step(problem: &Problem, index: usize) -> Named<StepId> {
    Named { id: StepId(index as u32), name: problem.steps[index].name.clone() }
}
