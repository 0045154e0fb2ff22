//! Numbers that mean nothing, anywhere in a problem or a plan.

use arbtest::arbitrary::{Result, Unstructured};
use arbtest::arbtest;
use memplan::{Options, Pin, Plan, Problem, StorageId, Strategy, ValueId, View, check, plan};

use crate::random;

#[test]
fn random_nonsense_never_panics() {
    arbtest(|u| {
        let mut problem = random::problem(u)?;
        let mut plan =
            plan(&problem, &Options { strategy: Strategy::Packed, in_place: true }).expect("it is valid");
        for _ in 0..u.int_in_range(1..=4)? {
            let number = *u.choose(&[0, 1, 63, 64, u64::MAX - 63, u64::MAX])?;
            let id = *u.choose(&[0, 1, 1000, u32::MAX])?;
            break_anything(u, &mut problem, &mut plan, number, id)?;
        }
        let _ = check(&problem, &plan).map_err(|fault| fault.to_string());
        let _ = memplan::timeline(&problem, &plan);
        let _ = memplan::plan(&problem, &Options::default()).map_err(|error| error.to_string());
        Ok(())
    })
    .budget_ms(1000)
    .run();
}

fn break_anything(
    u: &mut Unstructured<'_>,
    problem: &mut Problem,
    plan: &mut Plan,
    number: u64,
    id: u32,
) -> Result<()> {
    let space = u.choose_index(problem.spaces.len())?;
    let step = u.choose_index(problem.steps.len())?;
    match u.int_in_range(0..=6)? {
        0 => problem.spaces[space].align = number,
        1 => plan.spaces[space].bytes = number,
        2 => problem.steps[step].reads.push(ValueId(id)),
        3 => problem.steps[step].writes.push(ValueId(id)),
        4 if !problem.values.is_empty() => {
            let v = u.choose_index(problem.values.len())?;
            match u.int_in_range(0..=4)? {
                0 => problem.values[v].view_of = Some(View { parent: ValueId(id), offset: number }),
                1 => problem.values[v].bytes = number,
                2 => problem.values[v].space.0 = id,
                3 => problem.values[v].pin = *u.choose(&[Pin::None, Pin::Input, Pin::Output, Pin::Fresh])?,
                _ => {
                    if let Some(placement) = &mut plan.placements[v] {
                        (placement.offset, placement.storage) = (number, StorageId(id));
                    }
                }
            }
        }
        5 if !plan.storages.is_empty() => {
            let s = u.choose_index(plan.storages.len())?;
            let storage = &mut plan.storages[s];
            match u.int_in_range(0..=3)? {
                0 => storage.offset = number,
                1 => storage.bytes = number,
                2 => (storage.first, storage.last) = (id, id),
                _ => storage.members.push(ValueId(id)),
            }
        }
        _ => plan.spaces[space].bound_step.0 = id,
    }
    Ok(())
}
