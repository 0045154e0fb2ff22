//! The lower bound by its definition, as slowly and plainly as it can be said.

use std::collections::HashMap;

use memplan::{Pin, Plan, Problem, Step, ValueId};

/// What a value looks into in the end, and where.
pub fn root(problem: &Problem, v: ValueId) -> (ValueId, u64) {
    match problem.values[v.index()].view_of {
        None => (v, 0),
        Some(view) => {
            let (root, offset) = root(problem, view.parent);
            (root, offset + view.offset)
        }
    }
}

/// The first and last step at which the bytes of a value must be in memory; `None` when nobody needs it.
pub fn life(problem: &Problem, v: ValueId) -> Option<(usize, usize)> {
    let end = problem.steps.len().max(1) - 1;
    let family: Vec<ValueId> =
        (0..problem.values.len()).map(ValueId::new).filter(|&w| root(problem, w).0 == v).collect();
    let steps_with = |touches: &dyn Fn(&Step) -> bool| -> Vec<usize> {
        (0..problem.steps.len()).filter(|&s| touches(&problem.steps[s])).collect()
    };
    let reads = steps_with(&|step| step.reads.iter().any(|read| family.contains(read)));
    let writes = steps_with(&|step| step.writes.contains(&v));
    let is_kept = family.iter().any(|w| problem.values[w.index()].pin == Pin::Output);
    match problem.values[v.index()].pin {
        Pin::Input | Pin::Fresh | Pin::Persistent => Some((0, end)),
        Pin::None | Pin::Output if reads.is_empty() && !is_kept => None,
        Pin::None | Pin::Output | Pin::Scratch => {
            let last = if is_kept { end } else { reads.last().copied().unwrap_or(writes[0]) };
            Some((writes[0], last))
        }
    }
}

/// The largest sum of live bytes of each space, without working in place.
pub fn bounds(problem: &Problem) -> Vec<u64> {
    let alone = |v: ValueId| v.index();
    bounds_of(problem, &alone)
}

/// The largest sum of live bytes of each space, where values share as they do in the plan.
pub fn bounds_as_shared(problem: &Problem, plan: &Plan) -> Vec<u64> {
    let storage = |v: ValueId| plan.placement(v).expect("needed values are placed").storage.index();
    bounds_of(problem, &storage)
}

fn bounds_of(problem: &Problem, group: &dyn Fn(ValueId) -> usize) -> Vec<u64> {
    // By group: space, size, first and last step.
    let mut groups: HashMap<usize, (usize, u64, usize, usize)> = HashMap::new();
    for (i, value) in problem.values.iter().enumerate().filter(|(_, value)| value.view_of.is_none()) {
        let v = ValueId::new(i);
        let Some((first, last)) = life(problem, v) else { continue };
        let bytes = value.bytes.next_multiple_of(problem.spaces[value.space.index()].align);
        let of = groups.entry(group(v)).or_insert((value.space.index(), bytes, first, last));
        *of = (of.0, of.1.max(bytes), of.2.min(first), of.3.max(last));
    }
    let live = |space: usize, step: usize| -> u64 {
        let there = groups.values().filter(|of| of.0 == space && of.2 <= step && step <= of.3);
        there.map(|of| of.1).sum()
    };
    let steps = problem.steps.len().max(1);
    (0..problem.spaces.len()).map(|s| (0..steps).map(|step| live(s, step)).max().unwrap_or(0)).collect()
}
