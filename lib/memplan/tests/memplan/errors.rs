//! Problems that have no plan.

use memplan::{
    Options, Overwrite, Pin, PlanError, Problem, Space, SpaceId, Step, StepId, Value, ValueId, plan,
};

use crate::common::*;

fn error(problem: &Problem) -> PlanError {
    let error = plan(problem, &Options::default()).expect_err("the problem has no plan");
    assert!(!error.to_string().is_empty());
    error
}

/// A value that is made and used.
fn used(p: &mut Problem, v: ValueId) {
    step(p, "make", &[], &[v]);
    step(p, "use", &[v], &[]);
}

#[test]
fn ids_out_of_range_are_named() {
    let stray = ValueId(77);
    for (reads, writes) in [(vec![stray], vec![]), (vec![], vec![stray])] {
        let mut p = problem();
        value(&mut p, "a", 64);
        step(&mut p, "stray", &reads, &writes);
        let found = error(&p);
        assert!(matches!(found, PlanError::UnknownValue { value: ValueId(77), count: 1, .. }), "{found}");
    }
    let mut p = problem();
    p.add_value(Value::new("lost", 64, SpaceId(9)));
    assert!(matches!(error(&p), PlanError::UnknownSpace { space: SpaceId(9), count: 2, .. }));
    let mut p = problem();
    view(&mut p, "orphan", stray, 0, 64);
    assert!(matches!(error(&p), PlanError::UnknownParent { parent: ValueId(77), count: 1, .. }));
}

#[test]
fn an_overwrite_is_of_an_operand_by_a_result() {
    let mut p = problem();
    let [a, b] = ["a", "b"].map(|name| value(&mut p, name, 64));
    step(&mut p, "make a", &[], &[a]);
    p.add_step(Step::new("make b", [a], [b]).overwriting(Overwrite { write: a, read: b }));
    let found = error(&p);
    assert!(matches!(found, PlanError::UnrelatedOverwrite { step, .. } if step.id == StepId(1)));
    p.steps[1].overwrites[0] = Overwrite { write: b, read: ValueId(5) };
    assert!(matches!(error(&p), PlanError::UnknownValue { value: ValueId(5), .. }));
}

#[test]
fn alignment_is_a_power_of_two() {
    for align in [0, 3, 48] {
        let mut p = Problem::default();
        p.add_space(Space { name: "odd".into(), align, limit: None });
        assert!(matches!(error(&p), PlanError::BadAlignment { align: found, .. } if found == align));
    }
}

#[test]
fn views_lie_inside_their_parents() {
    for (offset, bytes, fits) in
        [(0, 64, true), (64, 0, true), (1, 64, false), (65, 0, false), (u64::MAX, 2, false)]
    {
        let mut p = problem();
        let a = value(&mut p, "a", 64);
        let v = view(&mut p, "v", a, offset, bytes);
        step(&mut p, "make", &[], &[a]);
        step(&mut p, "use", &[v], &[]);
        if fits {
            packed(&p);
        } else {
            let found = error(&p);
            assert!(matches!(found, PlanError::ViewOutsideParent { value, .. } if value.id == v));
        }
    }
}

#[test]
fn views_have_a_root_of_the_same_space() {
    let mut p = problem();
    let (a, b, c) = (ValueId(0), ValueId(1), ValueId(2));
    view(&mut p, "a", b, 0, 64);
    view(&mut p, "b", c, 0, 64);
    view(&mut p, "c", a, 0, 64);
    assert!(matches!(error(&p), PlanError::ViewCycle { .. }));

    let mut p = problem();
    let a = value(&mut p, "a", 64);
    p.add_value(Value::new("b", 64, CARD).viewing(a, 0));
    assert!(matches!(error(&p), PlanError::ViewInOtherSpace { .. }));
}

#[test]
fn a_view_is_pinned_as_output_or_not_at_all() {
    for pin in [Pin::Input, Pin::Fresh, Pin::Scratch, Pin::Persistent] {
        let mut p = problem();
        let a = value(&mut p, "a", 64);
        p.add_value(Value::new("b", 64, RAM).viewing(a, 0).pinned(pin));
        assert!(matches!(error(&p), PlanError::ViewPinned { .. }));
    }
}

#[test]
fn a_value_has_one_writer() {
    let mut p = problem();
    let a = value(&mut p, "a", 64);
    used(&mut p, a);
    used(&mut p, a);
    let found = error(&p);
    assert!(
        matches!(&found, PlanError::WrittenTwice { first, second, .. } if (first.id, second.id) == (StepId(0), StepId(2)))
    );
    let mut p = problem();
    let a = value(&mut p, "a", 64);
    step(&mut p, "twice", &[], &[a, a]);
    assert!(matches!(error(&p), PlanError::WrittenTwice { .. }));
    // A persistent value has any number of writers, but each of them once.
    p.values[a.index()].pin = Pin::Persistent;
    assert!(matches!(error(&p), PlanError::WrittenTwice { .. }));
    p.steps[0].writes.pop();
    step(&mut p, "again", &[], &[a]);
    packed(&p);
}

#[test]
fn an_input_has_no_writer() {
    let mut p = problem();
    let a = pinned(&mut p, "a", 64, Pin::Input);
    step(&mut p, "fill", &[], &[a]);
    let found = error(&p);
    assert!(
        matches!(&found, PlanError::InputWritten { value, step } if (value.id, step.id) == (a, StepId(0)))
    );
}

#[test]
fn what_is_needed_is_written_or_filled_from_outside() {
    let mut p = problem();
    let a = value(&mut p, "a", 64);
    step(&mut p, "use", &[a], &[]);
    assert!(matches!(error(&p), PlanError::NeverWritten { reader: Some(_), .. }));
    let mut p = problem();
    pinned(&mut p, "y", 64, Pin::Output);
    assert!(matches!(error(&p), PlanError::NeverWritten { reader: None, .. }));
    for pin in [Pin::Input, Pin::Fresh, Pin::Persistent] {
        let mut p = problem();
        let a = pinned(&mut p, "a", 64, pin);
        step(&mut p, "use", &[a], &[]);
        packed(&p);
    }
}

#[test]
fn a_view_is_made_after_its_parent_and_read_after_it_is_made() {
    let mut p = problem();
    let a = value(&mut p, "a", 64);
    let v = view(&mut p, "v", a, 0, 64);
    step(&mut p, "reshape", &[], &[v]);
    step(&mut p, "make a", &[], &[a]);
    step(&mut p, "use", &[v], &[]);
    assert!(matches!(error(&p), PlanError::ReadBeforeWrite { value, .. } if value.id == a));
    p.steps.swap(0, 1);
    packed(&p);
    p.steps.swap(1, 2);
    assert!(matches!(error(&p), PlanError::ReadBeforeWrite { value, .. } if value.id == v));
}

#[test]
fn sizes_that_do_not_add_up_are_an_error() {
    for sizes in [[u64::MAX, 0], [1 << 63, 1 << 63]] {
        let mut p = problem();
        for bytes in sizes {
            let v = value(&mut p, "huge", bytes);
            used(&mut p, v);
        }
        for strategy in STRATEGIES {
            let found = plan(&p, &Options { strategy, in_place: true }).unwrap_err();
            assert!(matches!(found, PlanError::Overflow { space } if space.id == RAM));
        }
    }
}
