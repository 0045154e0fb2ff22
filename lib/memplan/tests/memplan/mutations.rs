//! A right plan with one thing broken: the checker must see it, each time.

use arbtest::arbitrary::{Result, Unstructured};
use arbtest::arbtest;
use memplan::{
    Fault, Options, Overwrite, Pin, Plan, Problem, StorageId, Strategy, Value, ValueId, View, check, plan,
};

use crate::common::STRATEGIES;
use crate::random;

/// Breaks random right plans and expects a fault from each; `breaks` returns false when a plan has nothing to break.
fn always_found(
    breaks: impl Fn(&mut Unstructured<'_>, &mut Problem, &mut Plan) -> Result<bool>,
    expected: fn(&Fault) -> bool,
) {
    let mut broken = 0;
    arbtest(|u| {
        let mut problem = random::problem(u)?;
        let options = Options { strategy: *u.choose(&STRATEGIES)?, in_place: u.arbitrary()? };
        let mut plan = plan(&problem, &options).expect("random problems are valid");
        if breaks(u, &mut problem, &mut plan)? {
            let Err(fault) = check(&problem, &plan) else { panic!("not found\n{problem:#?}\n{plan:#?}") };
            assert!(expected(&fault), "found something else: {fault}\n{problem:#?}\n{plan:#?}");
            assert!(!fault.to_string().is_empty());
            broken += 1;
        }
        Ok(())
    })
    .budget_ms(500)
    .run();
    assert!(broken > 20, "only {broken} plans had something to break");
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

fn pairs(plan: &Plan, fits: impl Fn(usize, usize) -> bool) -> Vec<(usize, usize)> {
    let count = plan.storages.len();
    let all = (0..count).flat_map(|a| (0..count).map(move |b| (a, b)));
    all.filter(|&(a, b)| a != b && plan.storages[a].space == plan.storages[b].space && fits(a, b)).collect()
}

fn own_bytes(problem: &Problem, v: usize) -> bool {
    problem.values[v].view_of.is_none() && problem.values[v].bytes > 0
}

#[test]
fn a_storage_moved_into_a_live_neighbour_is_found() {
    always_found(
        |u, _, plan| {
            let candidates = pairs(plan, |a, b| {
                let (a, b) = (&plan.storages[a], &plan.storages[b]);
                a.first <= b.last && b.first <= a.last && a.bytes > 0 && b.bytes > 0
            });
            let Some((a, b)) = pick(u, &candidates)? else { return Ok(false) };
            move_storage(plan, a, plan.storages[b].offset);
            Ok(true)
        },
        |fault| {
            matches!(
                fault,
                Fault::Lost { .. }
                    | Fault::Clobbered { .. }
                    | Fault::WritesOverlap { .. }
                    | Fault::Shared { .. }
                    | Fault::StoragesOverlap { .. }
            )
        },
    );
}

#[test]
fn a_window_out_of_the_space_is_found() {
    always_found(
        |u, problem, plan| {
            let candidates: Vec<usize> = (0..plan.placements.len())
                .filter(|&i| plan.placements[i].is_some() && own_bytes(problem, i))
                .collect();
            let Some(i) = pick(u, &candidates)? else { return Ok(false) };
            let placement = plan.placements[i].as_mut().expect("it is placed");
            let Value { space, bytes, .. } = problem.values[i];
            let (size, align) = (plan.spaces[space.index()].bytes, problem.spaces[space.index()].align);
            // The first aligned offset at which it no longer fits, or one that wraps around.
            placement.offset = if u.arbitrary()? {
                (size - bytes + 1).next_multiple_of(align)
            } else {
                u64::MAX - (align - 1)
            };
            Ok(true)
        },
        |fault| matches!(fault, Fault::OutsideSpace { .. }),
    );
}

#[test]
fn a_broken_alignment_is_found() {
    always_found(
        |u, problem, plan| {
            let aligned = |s: &usize| problem.spaces[plan.storages[*s].space.index()].align > 1;
            let candidates: Vec<usize> = (0..plan.storages.len()).filter(aligned).collect();
            let Some(s) = pick(u, &candidates)? else { return Ok(false) };
            let storage = &plan.storages[s];
            let align = problem.spaces[storage.space.index()].align;
            move_storage(plan, s, storage.offset + u.int_in_range(1..=align - 1)?);
            Ok(true)
        },
        |fault| matches!(fault, Fault::Misaligned { .. } | Fault::ViewMisplaced { .. }),
    );
}

#[test]
fn a_fresh_window_that_is_shared_is_found() {
    always_found(
        |u, problem, plan| {
            let is_fresh = |s: usize| {
                plan.storages[s].members.iter().any(|m| problem.values[m.index()].pin == Pin::Fresh)
            };
            let candidates =
                pairs(plan, |a, b| is_fresh(b) && plan.storages[a].bytes > 0 && plan.storages[b].bytes > 0);
            let Some((a, b)) = pick(u, &candidates)? else { return Ok(false) };
            move_storage(plan, a, plan.storages[b].offset);
            Ok(true)
        },
        |fault| matches!(fault, Fault::Shared { .. }),
    );
}

/// Makes a result in place of an operand that is read later, with the right declared and the tables of the plan kept
/// consistent: only running the program can tell.
#[test]
fn in_place_with_a_later_reader_is_found() {
    always_found(
        |u, problem, plan| {
            let mut candidates = Vec::new();
            for (s, step) in problem.steps.iter().enumerate() {
                for &write in step.writes.iter().filter(|w| own_bytes(problem, w.index())) {
                    for &read in step.reads.iter().filter(|r| own_bytes(problem, r.index())) {
                        let later = problem.steps[s + 1..].iter().any(|step| step.reads.contains(&read));
                        let (w, r) = (&problem.values[write.index()], &problem.values[read.index()]);
                        let fits = w.space == r.space
                            && w.bytes <= r.bytes
                            && w.pin != Pin::Fresh
                            && r.pin != Pin::Fresh;
                        if later && fits && plan.placement(write).is_some() {
                            candidates.push((s, write, read));
                        }
                    }
                }
            }
            let Some((s, write, read)) = pick(u, &candidates)? else { return Ok(false) };
            problem.steps[s].overwrites.push(Overwrite { write, read });
            join(plan, write, read);
            Ok(true)
        },
        |fault| matches!(fault, Fault::Lost { .. } | Fault::Clobbered { .. } | Fault::WritesOverlap { .. }),
    );
}

/// Moves the storage of `write` into that of `read`, in all tables.
fn join(plan: &mut Plan, write: ValueId, read: ValueId) {
    let to = plan.placement(read).expect("it is placed").storage;
    let from = plan.placement(write).expect("it is placed").storage;
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
    plan.storages[from.index()].bytes = 0;
}

#[test]
fn a_view_past_its_parent_is_found() {
    always_found(
        |u, problem, _| {
            let candidates: Vec<usize> =
                (0..problem.values.len()).filter(|&i| problem.values[i].view_of.is_some()).collect();
            let Some(i) = pick(u, &candidates)? else { return Ok(false) };
            let View { parent, .. } = problem.values[i].view_of.expect("it is a view");
            let offset =
                problem.values[parent.index()].bytes - problem.values[i].bytes + u.int_in_range(1..=100)?;
            problem.values[i].view_of = Some(View { parent, offset });
            Ok(true)
        },
        |fault| matches!(fault, Fault::ViewOutsideParent { .. } | Fault::ViewMisplaced { .. }),
    );
}

#[test]
fn a_view_that_is_not_where_its_parent_is_is_found() {
    always_found(
        |u, problem, plan| {
            let placed_view =
                |i: &usize| problem.values[*i].view_of.is_some() && plan.placements[*i].is_some();
            let candidates: Vec<usize> = (0..problem.values.len()).filter(placed_view).collect();
            let Some(i) = pick(u, &candidates)? else { return Ok(false) };
            plan.placements[i].as_mut().expect("it is placed").offset += 1;
            Ok(true)
        },
        // At the very end of the space the window is outside, and a view of the view is misplaced as well.
        |fault| matches!(fault, Fault::ViewMisplaced { .. } | Fault::OutsideSpace { .. }),
    );
}

#[test]
fn a_missing_window_is_found() {
    always_found(
        |u, _, plan| {
            let candidates: Vec<usize> =
                (0..plan.placements.len()).filter(|&i| plan.placements[i].is_some()).collect();
            let Some(i) = pick(u, &candidates)? else { return Ok(false) };
            plan.placements[i] = None;
            Ok(true)
        },
        |fault| {
            matches!(
                fault,
                Fault::Unplaced { .. }
                    | Fault::Lost { .. }
                    | Fault::ViewMisplaced { .. }
                    | Fault::OutsideStorage { .. }
            )
        },
    );
}

#[test]
fn a_life_cut_short_is_found() {
    always_found(
        |u, _, plan| {
            let candidates: Vec<usize> = (0..plan.storages.len())
                .filter(|&s| plan.storages[s].first < plan.storages[s].last)
                .collect();
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
fn a_member_in_the_wrong_list_is_found() {
    always_found(
        |u, _, plan| {
            let candidates = pairs(plan, |_, _| true);
            let Some((a, b)) = pick(u, &candidates)? else { return Ok(false) };
            let Some(member) = plan.storages[a].members.pop() else { return Ok(false) };
            plan.storages[b].members.push(member);
            Ok(true)
        },
        |fault| matches!(fault, Fault::OutsideStorage { .. }),
    );
}

#[test]
fn a_false_report_is_found() {
    always_found(
        |u, _, plan| {
            let s = u.choose_index(plan.spaces.len())?;
            let report = &mut plan.spaces[s];
            match u.int_in_range(0..=3)? {
                0 => report.lower_bound += 1,
                1 => report.naive += 1,
                2 => report.proven = !report.proven,
                _ if report.bound_values.is_empty() => return Ok(false),
                _ => drop(report.bound_values.pop()),
            }
            Ok(true)
        },
        |fault| matches!(fault, Fault::WrongReport { .. }),
    );
}

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
