//! What is said of a plan that is larger than its space may be.

use memplan::{
    Options, OverBudget, Pin, PlanError, Problem, Strategy, ValueId, check, over_budget, plan, plan_unlimited,
};

use crate::common::*;

/// Seven values of 64 to 448 bytes that one step reads, and a limit.
fn seven(limit: u64) -> (Problem, Vec<ValueId>) {
    let mut p = problem();
    p.spaces[0].limit = Some(limit);
    let values: Vec<ValueId> = (1..=7).map(|n| value(&mut p, &format!("v{n}"), 64 * n)).collect();
    for &v in &values {
        step(&mut p, "make", &[], &[v]);
    }
    step(&mut p, "gather", &values, &[]);
    (p, values)
}

fn refused(problem: &Problem, options: &Options) -> OverBudget {
    match plan(problem, options) {
        Err(PlanError::OverBudget(over)) => *over,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_plan_that_fits_exactly_is_not_over_budget() {
    let (p, _) = seven(28 * 64);
    let plan = packed(&p);
    assert_eq!(over_budget(&p, &plan), []);
}

#[test]
fn when_no_plan_fits_the_step_and_the_five_largest_values_are_named() {
    let (p, values) = seven(28 * 64 - 1);
    let over = refused(&p, &Options::default());
    assert!(over.no_plan_fits());
    assert_eq!(
        (over.space.id, over.bytes, over.limit, over.lower_bound),
        (RAM, 28 * 64, 28 * 64 - 1, 28 * 64)
    );
    let step = over.step.as_ref().expect("there are steps");
    assert_eq!((step.id.index(), step.name.as_str()), (6, "make"));
    let largest: Vec<(ValueId, u64)> = over.largest.iter().map(|held| (held.value.id, held.bytes)).collect();
    assert_eq!(largest, [6, 5, 4, 3, 2].map(|n| (values[n], 64 * (n as u64 + 1))));
    let text = over.to_string();
    assert!(text.contains("no plan fits") && text.contains("`v7` (#6) (448 bytes)"), "{text}");
}

#[test]
fn when_only_this_plan_does_not_fit_that_is_said() {
    let mut p = problem();
    // Exactly the bound.
    p.spaces[0].limit = Some(64);
    for name in ["a", "b"] {
        let v = value(&mut p, name, 64);
        step(&mut p, "make", &[], &[v]);
        step(&mut p, "use", &[v], &[]);
    }
    packed(&p);
    let over = refused(&p, &Options { strategy: Strategy::Naive, in_place: false });
    assert_eq!((over.bytes, over.limit, over.lower_bound), (128, 64, 64));
    assert!(!over.no_plan_fits());
    let text = over.to_string();
    assert!(text.contains("another plan might fit"), "{text}");
}

#[test]
fn a_plan_without_limits_can_be_had_and_judged() {
    let (mut p, _) = seven(100);
    p.spaces[1].limit = Some(0);
    let plan = plan_unlimited(&p, &Options::default()).expect("limits are no error here");
    let over = over_budget(&p, &plan);
    assert_eq!(over, [refused(&p, &Options::default())], "the empty space is within its limit of nothing");
    assert!(check(&p, &plan).is_err(), "the checker still knows the limits");
    p.spaces[0].limit = None;
    check(&p, &plan).expect("the plan is right but for its size");
}

#[test]
fn every_space_over_its_limit_is_listed_and_the_first_is_the_error() {
    let (mut p, _) = seven(100);
    p.spaces[1].limit = Some(10);
    p.add_value(memplan::Value::new("x", 64, CARD).pinned(Pin::Input));
    let plan = plan_unlimited(&p, &Options::default()).expect("limits are no error here");
    let spaces: Vec<_> = over_budget(&p, &plan).iter().map(|over| over.space.id).collect();
    assert_eq!(spaces, [RAM, CARD]);
    assert_eq!(refused(&p, &Options::default()).space.id, RAM);
}

#[test]
fn a_program_without_steps_can_be_over_budget() {
    let mut p = problem();
    p.spaces[0].limit = Some(63);
    pinned(&mut p, "x", 64, Pin::Persistent);
    let over = refused(&p, &Options::default());
    assert_eq!((over.step.as_ref(), over.largest.len(), over.no_plan_fits()), (None, 1, true));
    assert!(over.to_string().contains("at once"));
}
