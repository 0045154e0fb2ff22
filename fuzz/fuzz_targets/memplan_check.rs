//! The checker is given any problem with any plan, or with a right one in which a few numbers are wrong.
//!
//! `cargo +nightly fuzz run memplan_check`, from the root of the repository.
#![no_main]

use libfuzzer_sys::arbitrary::{Result, Unstructured};
use libfuzzer_sys::fuzz_target;
use memplan::{
    Placement, Plan, Problem, SpaceId, SpaceReport, StepId, Storage, StorageId, ValueId, check, over_budget,
    plan_unlimited, timeline,
};

use memplan_input::Source;

mod memplan_input;

fuzz_target!(|bytes: &[u8]| {
    // Bytes that end too early make no plan.
    let _ = checked(&mut Unstructured::new(bytes));
});

fn checked(u: &mut Unstructured<'_>) -> Result<()> {
    let is_wild = u.ratio(1, 4)?;
    let mut source = Source { u, is_wild };
    let problem = source.problem()?;
    let plan = match plan_unlimited(&problem, &source.options()?) {
        Ok(mut plan) if source.u.ratio(7, 8)? => {
            for _ in 0..source.u.int_in_range(0..=3)? {
                disturb(source.u, &mut plan)?;
            }
            plan
        }
        _ => nonsense(&mut source, &problem)?,
    };
    if let Err(fault) = check(&problem, &plan) {
        assert!(!fault.to_string().is_empty());
    }
    for over in over_budget(&problem, &plan) {
        assert!(!over.to_string().is_empty());
    }
    let _ = timeline(&problem, &plan);
    Ok(())
}

/// A plan that nobody made.
fn nonsense(source: &mut Source, problem: &Problem) -> Result<Plan> {
    let (values, steps) = (problem.values.len(), problem.steps.len());
    let mut plan = Plan { placements: Vec::new(), storages: Vec::new(), spaces: Vec::new() };
    for value in &problem.values {
        let storage = StorageId(source.index(values)?);
        let placement = Placement { storage, offset: source.bytes()?, bytes: value.bytes };
        plan.placements.push(if source.u.ratio(1, 8)? { None } else { Some(placement) });
    }
    for _ in 0..source.u.int_in_range(0..=values)? {
        plan.storages.push(Storage {
            space: SpaceId(source.index(problem.spaces.len())?),
            offset: source.bytes()?,
            bytes: source.bytes()?,
            first: source.index(steps)?,
            last: source.index(steps)?,
            members: vec![ValueId(source.index(values)?)],
        });
    }
    for _ in &problem.spaces {
        plan.spaces.push(SpaceReport {
            bytes: if source.u.arbitrary()? { u64::MAX } else { source.bytes()? },
            lower_bound: source.bytes()?,
            bound_step: StepId(source.index(steps)?),
            bound_values: vec![ValueId(source.index(values)?)],
            naive: source.bytes()?,
            proven: source.u.arbitrary()?,
        });
    }
    Ok(plan)
}

/// Replaces one number of a plan.
fn disturb(u: &mut Unstructured<'_>, plan: &mut Plan) -> Result<()> {
    let number = match u.int_in_range(0..=3)? {
        0 => u.arbitrary()?,
        1 => u64::MAX - u.int_in_range(0..=256)?,
        _ => u.int_in_range(0..=4096)?,
    };
    let id: u32 = if u.ratio(1, 8)? { u.arbitrary()? } else { u.int_in_range(0..=30)? };
    let table = u.int_in_range(0..=2)?;
    if table == 0 && !plan.placements.is_empty() {
        let at = u.choose_index(plan.placements.len())?;
        match (&mut plan.placements[at], u.int_in_range(0..=3)?) {
            (Some(placement), 0) => placement.offset = number,
            (Some(placement), 1) => placement.bytes = number,
            (Some(placement), 2) => placement.storage = StorageId(id),
            (placement, _) => *placement = None,
        }
    } else if table == 1 && !plan.storages.is_empty() {
        let at = u.choose_index(plan.storages.len())?;
        let storage = &mut plan.storages[at];
        match u.int_in_range(0..=5)? {
            0 => storage.offset = number,
            1 => storage.bytes = number,
            2 => storage.first = id,
            3 => storage.last = id,
            4 => storage.space = SpaceId(id),
            _ => storage.members.push(ValueId(id)),
        }
    } else if !plan.spaces.is_empty() {
        let at = u.choose_index(plan.spaces.len())?;
        let report = &mut plan.spaces[at];
        match u.int_in_range(0..=5)? {
            0 => report.bytes = number,
            1 => report.lower_bound = number,
            2 => report.naive = number,
            3 => report.bound_step = StepId(id),
            4 => report.bound_values.push(ValueId(id)),
            _ => drop(plan.spaces.pop()),
        }
    }
    Ok(())
}
