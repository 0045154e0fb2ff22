//! Whether a plan fits in what its spaces may have, and what is in the way if it does not.

use std::fmt;

use crate::plan::Plan;
use crate::problem::{Named, Problem, Space, SpaceId, StepId, ValueId};

/// Values that [`OverBudget::largest`] names at most.
const NAMED: usize = 5;

/// A space whose plan is larger than its [`Space::limit`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OverBudget {
    /// The space.
    pub space: Named<SpaceId>,
    /// Bytes that the plan needs.
    pub bytes: u64,
    /// Bytes that the space may have.
    pub limit: u64,
    /// The largest sum of live bytes at any step.
    pub lower_bound: u64,
    /// The first step with that sum; `None` in a program without steps.
    pub step: Option<Named<StepId>>,
    /// The values that hold most of that sum, at most five, the largest first.
    pub largest: Vec<Held>,
}

/// A value in memory at some step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Held {
    /// The value.
    pub value: Named<ValueId>,
    /// Size of the storage that it holds.
    pub bytes: u64,
}

impl OverBudget {
    /// True when the lower bound itself is over the limit: these values do not fit wherever they are put, so only a
    /// smaller problem helps. False when this plan does not fit, but another [`Strategy`](crate::Strategy) might.
    pub fn no_plan_fits(&self) -> bool {
        self.lower_bound > self.limit
    }
}

/// The spaces of a plan that are over their limits, in order; none when the plan fits.
///
/// The verdict is on a plan that exists: [`plan_unlimited`](crate::plan_unlimited) makes one whatever the limits are, and
/// [`plan`](crate::plan()) turns the first of these into an error.
pub fn over_budget(problem: &Problem, plan: &Plan) -> Vec<OverBudget> {
    let spaces = problem.spaces.iter().enumerate();
    spaces.filter_map(|(s, space)| over(problem, plan, SpaceId::new(s), space)).collect()
}

fn over(problem: &Problem, plan: &Plan, id: SpaceId, space: &Space) -> Option<OverBudget> {
    let report = plan.spaces.get(id.index())?;
    let limit = space.limit.filter(|&limit| report.bytes > limit)?;
    let held = |&id: &ValueId| {
        let storage = plan.storages.get(plan.placement(id)?.storage.index())?;
        let name = problem.values.get(id.index())?.name.clone();
        Some(Held { value: Named { id, name }, bytes: storage.bytes })
    };
    let step = problem.steps.get(report.bound_step.index());
    Some(OverBudget {
        space: Named { id, name: space.name.clone() },
        bytes: report.bytes,
        limit,
        lower_bound: report.lower_bound,
        step: step.map(|step| Named { id: report.bound_step, name: step.name.clone() }),
        largest: report.bound_values.iter().filter_map(held).take(NAMED).collect(),
    })
}

impl fmt::Display for OverBudget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { space, bytes, limit, lower_bound, step, largest } = self;
        write!(f, "space {space} needs {bytes} bytes, its limit is {limit}; ")?;
        if self.no_plan_fits() {
            write!(f, "no plan fits, since {lower_bound} bytes are in use ")?;
        } else {
            write!(f, "another plan might fit, since only {lower_bound} bytes are in use ")?;
        }
        match step {
            Some(step) => write!(f, "at step {step}")?,
            None => write!(f, "at once")?,
        }
        for (n, held) in largest.iter().enumerate() {
            let before = if n == 0 { ", the most by " } else { ", " };
            write!(f, "{before}{} ({} bytes)", held.value, held.bytes)?;
        }
        Ok(())
    }
}
