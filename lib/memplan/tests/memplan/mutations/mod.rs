//! A right plan with one thing broken: the checker must see it, each time.
//!
//! For every kind of fault and every strategy, random right plans are broken until [`PLANTED`] of them were, and all of
//! those must be found. The plans depend on nothing but their seeds.

use arbtest::arbitrary::{Result, Unstructured};
use memplan::{Fault, Options, Pin, Plan, Problem, ValueId, check, plan};

use crate::common::STRATEGIES;
use crate::random;

mod lives;
mod nonsense;
mod reports;
mod windows;

/// Faults of each kind, for each strategy.
const PLANTED: usize = 1000;

/// Breaks random right plans and expects a fault from each; `breaks` returns false when a plan has no place for the fault.
fn always_found(
    breaks: impl Fn(&mut Unstructured<'_>, &mut Problem, &mut Plan) -> Result<bool>,
    expected: fn(&Fault) -> bool,
) {
    for strategy in STRATEGIES {
        let (mut planted, mut found, mut first_missed) = (0, 0, String::new());
        for seed in 0.. {
            if planted == PLANTED {
                break;
            }
            assert!(seed < 200 * PLANTED as u64, "only {planted} plans with {strategy:?} had a place for it");
            let noise = random::noise(seed);
            let mut u = Unstructured::new(&noise);
            let mut problem = random::problem(&mut u).expect("there is enough noise");
            let options = Options { strategy, in_place: seed % 4 > 0 };
            let mut plan = plan(&problem, &options).expect("random problems are valid");
            let is_planted = breaks(&mut u, &mut problem, &mut plan).expect("there is enough noise");
            if !is_planted {
                continue;
            }
            planted += 1;
            match check(&problem, &plan) {
                Err(fault) if expected(&fault) => found += 1,
                other if first_missed.is_empty() => {
                    first_missed = format!("seed {seed}, the check says {other:?}\n{problem:#?}\n{plan:#?}");
                }
                _ => {}
            }
        }
        assert_eq!(found, planted, "{strategy:?}, first missed: {first_missed}");
    }
}

/// One of the candidates, or none when there is none.
fn pick<T: Copy>(u: &mut Unstructured<'_>, candidates: &[T]) -> Result<Option<T>> {
    if candidates.is_empty() { Ok(None) } else { u.choose(candidates).copied().map(Some) }
}

/// Moves a storage with all its members, and lets its space grow with it.
fn move_storage(plan: &mut Plan, s: usize, offset: u64) {
    let storage = &mut plan.storages[s];
    let before = std::mem::replace(&mut storage.offset, offset);
    for member in &storage.members {
        let placement = plan.placements[member.index()].as_mut().expect("members are placed");
        placement.offset = placement.offset - before + offset;
    }
    let space = &mut plan.spaces[storage.space.index()];
    space.bytes = space.bytes.max(offset + storage.bytes);
}

/// Two storages of one space, neither empty.
fn pairs(plan: &Plan, fits: impl Fn(usize, usize) -> bool) -> Vec<(usize, usize)> {
    let count = plan.storages.len();
    let all = (0..count).flat_map(|a| (0..count).map(move |b| (a, b)));
    let are_neighbours = |a: usize, b: usize| {
        let (a, b) = (&plan.storages[a], &plan.storages[b]);
        a.space == b.space && a.bytes > 0 && b.bytes > 0
    };
    all.filter(|&(a, b)| a != b && are_neighbours(a, b) && fits(a, b)).collect()
}

/// The storages that hold a value with one of these pins.
fn pinned(problem: &Problem, plan: &Plan, s: usize, pins: &[Pin]) -> bool {
    plan.storages[s].members.iter().any(|m| pins.contains(&problem.values[m.index()].pin))
}

/// The value that a value looks into in the end.
fn root(problem: &Problem, mut v: ValueId) -> ValueId {
    while let Some(view) = problem.values[v.index()].view_of {
        v = view.parent;
    }
    v
}

fn live_together(plan: &Plan, a: usize, b: usize) -> bool {
    let (a, b) = (&plan.storages[a], &plan.storages[b]);
    a.first <= b.last && b.first <= a.last
}

/// What the program finds when two windows lie in each other's way.
fn is_collision(fault: &Fault) -> bool {
    matches!(
        fault,
        Fault::Lost { .. }
            | Fault::Clobbered { .. }
            | Fault::WritesOverlap { .. }
            | Fault::Shared { .. }
            | Fault::StoragesOverlap { .. }
    )
}
