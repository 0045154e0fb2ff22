//! The report of each space, added up again from the storages.

use super::Fault;
use crate::plan::Plan;
use crate::problem::{Problem, SpaceId};

pub(super) fn check(problem: &Problem, plan: &Plan) -> Result<(), Fault> {
    let steps = problem.steps.len().max(1);
    for (s, report) in plan.spaces.iter().enumerate() {
        let space = SpaceId(s as u32);
        let same = |what, expected: u128, found: u128| {
            if expected == found { Ok(()) } else { Err(Fault::WrongReport { space, what, expected, found }) }
        };
        let live = live_bytes(plan, space, steps);
        let bound = live.iter().copied().max().unwrap_or(0);
        same("lower bound", bound, report.lower_bound.into())?;
        let step = live.iter().position(|&bytes| bytes == bound).unwrap_or(0);
        same("step of the bound", step as u128, report.bound_step.0.into())?;

        let storages = report
            .bound_values
            .iter()
            .filter_map(|v| Some(plan.placements.get(v.index())?.as_ref()?.storage.index()));
        let mut live_there: Vec<usize> = storages
            .filter(|&storage| {
                plan.storages.get(storage).is_some_and(|storage| {
                    storage.space == space && (storage.first..=storage.last).contains(&report.bound_step.0)
                })
            })
            .collect();
        live_there.sort_unstable();
        // Two values of one storage hold its bytes only once.
        live_there.dedup();
        let held = live_there.iter().map(|&storage| u128::from(plan.storages[storage].bytes)).sum();
        same("bytes of the values at the bound", held, report.lower_bound.into())?;

        let align = u128::from(problem.spaces[s].align);
        let placed = problem.values.iter().zip(&plan.placements);
        let own = placed.filter(|(v, p)| v.space == space && v.view_of.is_none() && p.is_some());
        let naive = own.map(|(v, _)| u128::from(v.bytes).div_ceil(align) * align).sum();
        same("naive bytes", naive, report.naive.into())?;
        same("proven", (bound == u128::from(report.bytes)).into(), report.proven.into())?;
    }
    Ok(())
}

/// The sum of live bytes at each step.
fn live_bytes(plan: &Plan, space: SpaceId, steps: usize) -> Vec<u128> {
    let mut change = vec![0i128; steps + 1];
    for storage in plan.storages.iter().filter(|storage| storage.space == space) {
        change[storage.first as usize] += i128::from(storage.bytes);
        change[storage.last as usize + 1] -= i128::from(storage.bytes);
    }
    let mut sum = 0;
    let running = change[..steps].iter().map(|&bytes| {
        sum += bytes;
        sum.unsigned_abs()
    });
    running.collect()
}
