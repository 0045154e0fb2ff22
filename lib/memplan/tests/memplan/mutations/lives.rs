//! Windows that are used again too early.

use memplan::{Fault, Options, Overwrite, Pin, Plan, Problem, ValueId, plan};

use super::windows::remove_storage;
use super::{always_found, is_collision, move_storage, pairs, pick, pinned, root};
use crate::common::window;

#[test]
fn a_life_cut_short_is_found() {
    always_found(
        |u, _, plan| {
            let lasts = |s: &usize| plan.storages[*s].first < plan.storages[*s].last;
            let candidates: Vec<usize> = (0..plan.storages.len()).filter(lasts).collect();
            let Some(s) = pick(u, &candidates)? else { return Ok(false) };
            if u.arbitrary()? {
                plan.storages[s].last -= 1;
            } else {
                plan.storages[s].first += 1;
            }
            Ok(true)
        },
        |fault| matches!(fault, Fault::LifeTooShort { .. }),
    );
}

#[test]
fn a_life_that_is_too_long_is_found() {
    always_found(
        |u, problem, plan| {
            let end = problem.steps.len() as u32 - 1;
            let could_last = |s: &usize| plan.storages[*s].first > 0 || plan.storages[*s].last < end;
            let candidates: Vec<usize> = (0..plan.storages.len()).filter(could_last).collect();
            let Some(s) = pick(u, &candidates)? else { return Ok(false) };
            let storage = &mut plan.storages[s];
            if storage.first > 0 && (storage.last == end || u.arbitrary()?) {
                storage.first -= 1;
            } else {
                storage.last += 1;
            }
            Ok(true)
        },
        |fault| matches!(fault, Fault::BadStorage { .. }),
    );
}

/// The plan says that a storage ends before another begins, and gives its bytes to the other; nothing in the tables
/// contradicts that, but a step still reads there.
#[test]
fn a_window_that_is_used_again_too_early_is_found() {
    always_found(
        |u, _, plan| {
            let candidates = pairs(plan, |a, b| {
                let (a, b) = (&plan.storages[a], &plan.storages[b]);
                a.first < b.first && b.first <= a.last && b.bytes <= a.bytes
            });
            let Some((a, b)) = pick(u, &candidates)? else { return Ok(false) };
            plan.storages[a].last = plan.storages[b].first - 1;
            move_storage(plan, b, plan.storages[a].offset);
            Ok(true)
        },
        // The other one lives longer, and can meet what comes to that place after the end of the first.
        |fault| is_collision(fault) || matches!(fault, Fault::LifeTooShort { .. }),
    );
}

/// Makes a result in place of an operand that is read later, with the right declared and the tables of the plan of one
/// mind: only running the program can tell.
#[test]
fn in_place_with_a_later_reader_is_found() {
    always_found(
        |u, problem, plan| {
            let candidates = in_place_with_later_reader(problem, plan);
            let Some((s, write, read)) = pick(u, &candidates)? else { return Ok(false) };
            problem.steps[s].overwrites.push(Overwrite { write, read });
            join(plan, write, read);
            Ok(true)
        },
        |fault| matches!(fault, Fault::Lost { .. } | Fault::Clobbered { .. } | Fault::WritesOverlap { .. }),
    );
}

/// Steps, results and operands that could share but for a later step that reads what the result would destroy, itself or
/// through a view.
fn in_place_with_later_reader(problem: &Problem, plan: &Plan) -> Vec<(usize, ValueId, ValueId)> {
    let mut candidates = Vec::new();
    for (s, step) in problem.steps.iter().enumerate() {
        for &write in &step.writes {
            for &read in &step.reads {
                let (w, r) = (&problem.values[write.index()], &problem.values[read.index()]);
                let owns = w.view_of.is_none() && w.bytes > 0 && plan.placement(write).is_some();
                if !owns || w.space != r.space || r.view_of.is_some() || w.bytes > r.bytes {
                    continue;
                }
                let is_free = |pin| matches!(pin, Pin::None | Pin::Output | Pin::Scratch);
                let first = window(plan, read).offset;
                let is_destroyed = |v: &ValueId| {
                    let later = window(plan, *v);
                    root(problem, *v) == read && later.bytes > 0 && later.offset < first + w.bytes
                };
                let is_read_later =
                    problem.steps[s + 1..].iter().any(|step| step.reads.iter().any(is_destroyed));
                // The storage of the result must have no other member that would come along.
                let moves = &plan.storages[window(plan, write).storage.index()].members;
                let comes_alone = moves.iter().all(|&m| root(problem, m) == write);
                if is_free(w.pin) && is_free(r.pin) && is_read_later && comes_alone {
                    candidates.push((s, write, read));
                }
            }
        }
    }
    candidates
}

/// Moves the storage of `write` into that of `read`, in all tables.
fn join(plan: &mut Plan, write: ValueId, read: ValueId) {
    let to = window(plan, read).storage;
    let from = window(plan, write).storage;
    move_storage(plan, from.index(), plan.storages[to.index()].offset);
    let members = std::mem::take(&mut plan.storages[from.index()].members);
    for &member in &members {
        if let Some(placement) = plan.placements[member.index()].as_mut() {
            placement.storage = to;
        }
    }
    let (first, last) = (plan.storages[from.index()].first, plan.storages[from.index()].last);
    let joined = &mut plan.storages[to.index()];
    joined.members.extend(members);
    (joined.first, joined.last) = (joined.first.min(first), joined.last.max(last));
    remove_storage(plan, from.index());
}

/// The window of a pinned value is given to another after its last reader, as if nothing held it.
#[test]
fn a_recycled_input_output_or_region_is_found() {
    for pin in [Pin::Input, Pin::Output, Pin::Persistent] {
        always_found(
            |u, problem, plan| {
                let candidates = pairs(plan, |a, b| {
                    let fits = plan.storages[b].bytes <= plan.storages[a].bytes;
                    let is_over = last_use(problem, plan, a) < plan.storages[b].first;
                    pinned(problem, plan, a, &[pin]) && fits && is_over
                });
                let Some((a, b)) = pick(u, &candidates)? else { return Ok(false) };
                plan.storages[a].last = last_use(problem, plan, a);
                move_storage(plan, b, plan.storages[a].offset);
                Ok(true)
            },
            // A pinned view may lie behind what the other one overwrites; then only its life is too short.
            |fault| matches!(fault, Fault::Lost { .. } | Fault::Shared { .. } | Fault::LifeTooShort { .. }),
        );
    }
}

/// The last step that touches a member of a storage.
fn last_use(problem: &Problem, plan: &Plan, s: usize) -> u32 {
    let is_member = |v: &ValueId| plan.storages[s].members.contains(v);
    let touches = |step: &memplan::Step| step.reads.iter().chain(&step.writes).any(is_member);
    problem.steps.iter().rposition(touches).unwrap_or(0) as u32
}

/// Another problem is planned, in which an output is not pinned.
#[test]
fn a_plan_that_does_not_know_of_an_output_is_found() {
    always_found(
        |u, problem, planned| {
            let end = problem.steps.len() as u32 - 1;
            let is_output = |i: &usize| problem.values[*i].pin == Pin::Output;
            let candidates: Vec<usize> = (0..problem.values.len()).filter(is_output).collect();
            let Some(i) = pick(u, &candidates)? else { return Ok(false) };
            let mut without = problem.clone();
            without.values[i].pin = Pin::None;
            // The same strategy is not known here; what is forgotten is the same with each.
            *planned = plan(&without, &Options::default()).expect("one pin less is still valid");
            // Where the output lives to the end anyway, nothing was lost by forgetting it.
            let lives_on = planned
                .placement(ValueId::new(i))
                .is_some_and(|placement| planned.storages[placement.storage.index()].last == end);
            Ok(!lives_on)
        },
        |fault| matches!(fault, Fault::Lost { .. } | Fault::Unplaced { .. } | Fault::LifeTooShort { .. }),
    );
}
