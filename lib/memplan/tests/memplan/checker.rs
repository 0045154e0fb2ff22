//! Small plans written by hand, right and wrong, and what exactly the checker says.

use memplan::{Fault, Overwrite, Pin, Plan, Problem, Step, StepId, ValueId, check};

use crate::common::*;

/// `a` is made, `b` is made of `a`, both of 64 bytes; then `last` is read. The plan is right.
fn two_values(overwriting: bool, last: &[usize]) -> (Problem, Plan, ValueId, ValueId) {
    let mut p = problem();
    let [a, b] = ["a", "b"].map(|name| value(&mut p, name, 64));
    step(&mut p, "make a", &[], &[a]);
    let make = Step::new("make b", [a], [b]);
    p.add_step(if overwriting { make.overwriting(Overwrite { write: b, read: a }) } else { make });
    let reads: Vec<ValueId> = last.iter().map(|&i| [a, b][i]).collect();
    step(&mut p, "end", &reads, &[]);
    let plan = planned(&p, memplan::Strategy::Naive, false);
    (p, plan, a, b)
}

fn put(plan: &mut Plan, v: ValueId, offset: u64) {
    let placement = plan.placements[v.index()].as_mut().expect("it is placed");
    placement.offset = offset;
    plan.storages[placement.storage.index()].offset = offset;
}

#[test]
fn a_write_over_an_operand_needs_the_right() {
    let (p, mut plan, a, b) = two_values(false, &[1]);
    let offset = window(&plan, a).offset;
    put(&mut plan, b, offset);
    let fault = check(&p, &plan).unwrap_err();
    let Fault::Clobbered { step, write, read, offset } = fault else { panic!("{fault}") };
    assert_eq!((step.id, write.id, read.id, offset), (StepId(1), b, a, 0));
}

#[test]
fn a_write_over_an_operand_starts_where_the_operand_starts() {
    let (mut p, mut plan, a, b) = two_values(true, &[1]);
    p.spaces[0].align = 1;
    put(&mut plan, a, 0);
    put(&mut plan, b, 32);
    let fault = check(&p, &plan).unwrap_err();
    assert!(matches!(fault, Fault::Clobbered { offset: 32, .. }), "{fault}");
}

#[test]
fn a_write_over_two_operands_has_no_right_even_if_both_pairs_are_declared() {
    let (mut p, mut plan, a, b) = two_values(true, &[1]);
    let alias = view(&mut p, "alias", a, 0, 64);
    p.steps[1].reads.push(alias);
    p.steps[1].overwrites.push(Overwrite { write: b, read: alias });
    plan.placements.push(plan.placements[a.index()]);
    let offset = window(&plan, a).offset;
    put(&mut plan, b, offset);
    let fault = check(&p, &plan).unwrap_err();
    assert!(matches!(fault, Fault::Clobbered { read, .. } if read.id == alias));
}

#[test]
fn an_output_that_is_overwritten_after_its_last_reader_is_found() {
    let (mut p, mut plan, a, b) = two_values(true, &[1]);
    p.values[a.index()].pin = Pin::Output;
    let offset = window(&plan, a).offset;
    put(&mut plan, b, offset);
    let fault = check(&p, &plan).unwrap_err();
    assert!(matches!(fault, Fault::Lost { value, reader: None, .. } if value.id == a));
}

#[test]
fn two_inputs_at_one_place_are_found() {
    let mut p = problem();
    let [a, b] = ["a", "b"].map(|name| pinned(&mut p, name, 64, Pin::Input));
    let mut plan = packed(&p);
    put(&mut plan, b, 0);
    let fault = check(&p, &plan).unwrap_err();
    assert!(matches!(fault, Fault::Shared { value, other, offset: 0 } if (value.id, other.id) == (b, a)));
}

#[test]
fn a_read_after_the_overwrite_finds_the_new_owner() {
    let (p, mut plan, a, b) = two_values(true, &[1, 0]);
    let offset = window(&plan, a).offset;
    put(&mut plan, b, offset);
    let fault = check(&p, &plan).unwrap_err();
    let Fault::Lost { value, reader, offset, owner } = fault else { panic!("{fault}") };
    assert_eq!(
        (value.id, reader.map(|r| r.id), offset, owner.map(|o| o.id)),
        (a, Some(StepId(2)), 0, Some(b))
    );
}

#[test]
fn a_read_of_bytes_that_nobody_wrote_is_found() {
    let (mut p, plan, a, _) = two_values(false, &[1]);
    p.steps[0].writes.clear();
    let fault = check(&p, &plan).unwrap_err();
    assert!(matches!(fault, Fault::Lost { value, owner: None, .. } if value.id == a));
}

#[test]
fn two_storages_that_only_the_table_shows_to_overlap_are_found() {
    // Nothing is read but the second half, so running the program alone would not notice.
    let mut p = problem();
    p.spaces[0].align = 1;
    let a = value(&mut p, "a", 64);
    let half = view(&mut p, "half", a, 32, 32);
    let b = value(&mut p, "b", 32);
    step(&mut p, "make a", &[], &[a]);
    step(&mut p, "make b", &[], &[b]);
    step(&mut p, "end", &[half, b], &[]);
    let mut plan = planned(&p, memplan::Strategy::Naive, false);
    let offset = window(&plan, a).offset;
    put(&mut plan, b, offset);
    let fault = check(&p, &plan).unwrap_err();
    assert!(matches!(fault, Fault::StoragesOverlap { step: StepId(1), .. }), "{fault}");
}

#[test]
fn a_space_over_its_limit_is_found() {
    let (mut p, plan, ..) = two_values(false, &[1]);
    p.spaces[0].limit = Some(127);
    assert_eq!(check(&p, &plan), Err(Fault::OverLimit { space: RAM, bytes: 128, limit: 127 }));
}

#[test]
fn a_plan_of_another_problem_is_found() {
    let (mut p, plan, ..) = two_values(false, &[1]);
    value(&mut p, "one more", 64);
    assert_eq!(check(&p, &plan), Err(Fault::WrongLength { table: "placements", expected: 3, found: 2 }));
    let (mut p, plan, ..) = two_values(false, &[1]);
    p.values[0].bytes = 63;
    assert!(matches!(check(&p, &plan), Err(Fault::WrongSize { expected: 63, found: 64, .. })));
}

#[test]
fn a_value_that_is_written_twice_or_an_input_that_is_written_is_found() {
    let (mut p, plan, a, _) = two_values(false, &[1]);
    p.steps[1].writes.push(a);
    assert!(
        matches!(check(&p, &plan), Err(Fault::Rewritten { value, step }) if (value.id, step.id) == (a, StepId(1)))
    );
    let (mut p, plan, a, _) = two_values(false, &[1]);
    p.values[a.index()].pin = Pin::Input;
    assert!(
        matches!(check(&p, &plan), Err(Fault::Rewritten { value, step }) if (value.id, step.id) == (a, StepId(0)))
    );
}

#[test]
fn a_staging_window_is_reserved_but_not_filled_before_its_step() {
    let mut p = problem();
    let staged = pinned(&mut p, "staged", 64, Pin::Fresh);
    step(&mut p, "stage", &[], &[staged]);
    step(&mut p, "use", &[staged], &[]);
    let plan = packed(&p);
    p.steps.swap(0, 1);
    assert!(matches!(check(&p, &plan), Err(Fault::Lost { reader: Some(_), owner: None, .. })));
    // Without a writer it is filled from outside.
    p.steps[1].writes.clear();
    check(&p, &plan).expect("it is there from the start");
}

#[test]
fn scratch_that_no_table_knows_is_missed() {
    let mut p = problem();
    let scratch = pinned(&mut p, "scratch", 64, Pin::Scratch);
    step(&mut p, "work", &[], &[scratch]);
    let mut plan = packed(&p);
    plan.placements[0] = None;
    plan.storages.clear();
    assert!(
        matches!(check(&p, &plan), Err(Fault::Unplaced { value, reader: Some(_) }) if value.id == scratch)
    );
}

#[test]
fn a_region_may_be_read_by_the_step_that_writes_it_and_another_value_may_not() {
    let mut p = problem();
    let [cache, other] = ["cache", "other"].map(|name| pinned(&mut p, name, 64, Pin::Persistent));
    step(&mut p, "update", &[cache], &[cache, other]);
    let mut plan = packed(&p);
    let offset = window(&plan, cache).offset;
    put(&mut plan, other, offset);
    assert!(matches!(check(&p, &plan), Err(Fault::Shared { .. })));
}

#[test]
fn a_storage_that_nothing_needs_makes_no_bound() {
    // With it the wasteful plan would be called the best one there is.
    let (p, mut plan, ..) = two_values(false, &[1]);
    plan.storages.push(memplan::Storage {
        offset: 128,
        bytes: 64,
        members: Vec::new(),
        ..plan.storages[0].clone()
    });
    plan.spaces[0].bytes = 192;
    assert!(matches!(check(&p, &plan), Err(Fault::BadStorage { .. })));
}

#[test]
fn two_results_at_one_place_are_found_even_if_only_one_is_read() {
    // Working memory in the storage of a result: no table and no later read contradicts it.
    let mut p = problem();
    let scratch = pinned(&mut p, "scratch", 64, Pin::Scratch);
    let y = pinned(&mut p, "y", 64, Pin::Output);
    step(&mut p, "work", &[], &[scratch, y]);
    let mut plan = packed(&p);
    let place = plan.placements[y.index()];
    let from = window(&plan, scratch).storage.index();
    plan.placements[scratch.index()] = place;
    plan.storages.remove(from);
    for placement in plan.placements.iter_mut().flatten() {
        placement.storage = memplan::StorageId(0);
        placement.offset = 0;
    }
    plan.storages[0].offset = 0;
    plan.storages[0].members = vec![scratch, y];
    assert!(matches!(
        check(&p, &plan),
        Err(Fault::WritesOverlap { first, second, .. }) if (first.id, second.id) == (scratch, y)
    ));
}

#[test]
fn a_wrong_number_in_the_table_of_storages_is_named() {
    let (p, right, a, _) = two_values(false, &[1]);
    let said = |change: fn(&mut memplan::Storage)| {
        let mut plan = right.clone();
        change(&mut plan.storages[0]);
        plan.spaces[0].bytes = 256;
        check(&p, &plan).unwrap_err()
    };
    type Change = fn(&mut memplan::Storage);
    let wrong: [(Change, &str); 8] = [
        (|s| s.offset = 32, "is misaligned"),
        (|s| s.bytes = 100, "is misaligned"),
        (|s| s.bytes = 320, "reaches past the end of its space"),
        (|s| s.offset = u64::MAX - 63, "reaches past the end of its space"),
        (|s| (s.first, s.last) = (1, 0), "has a life that is no range of steps"),
        (|s| s.last = 3, "has a life that is no range of steps"),
        (|s| s.last = 2, "lives longer than its values are in use"),
        (|s| s.bytes = 128, "is larger than its values need"),
    ];
    for (change, expected) in wrong {
        let fault = said(change);
        assert!(matches!(fault, Fault::BadStorage { what, .. } if what == expected), "{fault}");
    }
    let elsewhere: [Change; 3] = [|s| s.offset = 64, |s| s.bytes = 0, |s| s.members.clear()];
    for change in elsewhere {
        let fault = said(change);
        assert!(matches!(&fault, Fault::OutsideStorage { value, .. } if value.id == a), "{fault}");
    }
    // The same bytes of the other space, which is as large.
    let mut plan = right.clone();
    plan.spaces[1].bytes = 256;
    plan.storages[0].space = CARD;
    assert!(matches!(check(&p, &plan), Err(Fault::OutsideStorage { value, .. }) if value.id == a));
    // A member that two storages list, and a storage for nobody.
    let mut plan = right.clone();
    plan.storages[1].members.push(a);
    assert!(matches!(check(&p, &plan), Err(Fault::OutsideStorage { value, .. }) if value.id == a));
    let mut plan = right;
    plan.storages.push(memplan::Storage { bytes: 0, members: Vec::new(), ..plan.storages[0].clone() });
    assert!(matches!(check(&p, &plan), Err(Fault::BadStorage { .. })));
}

#[test]
fn a_report_of_another_step_than_the_largest_is_found() {
    // One that agrees with itself: `a` alone is 64 bytes at step 0, but both are there at step 1.
    let (p, right, a, _) = two_values(false, &[1]);
    assert_eq!((right.spaces[0].lower_bound, right.spaces[0].bound_step), (128, StepId(1)));
    let mut plan = right.clone();
    let report = &mut plan.spaces[0];
    (report.lower_bound, report.bound_step, report.bound_values, report.proven) =
        (64, StepId(0), vec![a], false);
    assert!(matches!(check(&p, &plan), Err(Fault::WrongReport { what: "lower bound", .. })));
    // Both steps have the same sum, and the first is the one that is meant.
    let (p, right, ..) = two_values(false, &[0, 1]);
    let mut plan = right;
    assert_eq!(plan.spaces[0].bound_step, StepId(1));
    plan.spaces[0].bound_step = StepId(2);
    let fault = check(&p, &plan).unwrap_err();
    assert!(matches!(fault, Fault::WrongReport { what: "step of the bound", expected: 1, found: 2, .. }));
}
