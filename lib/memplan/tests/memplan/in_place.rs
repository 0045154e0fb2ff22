//! When a result may take the storage of an operand.

use memplan::{Overwrite, Pin, Problem, Step, Value, ValueId};

use crate::common::*;

/// Whether the packed plan makes the two values in one storage.
fn shared(problem: &Problem, a: ValueId, b: ValueId) -> bool {
    together(&packed(problem), a, b)
}

#[test]
fn in_place_needs_last_reader_and_same_device() {
    let program = |space, later_reader: bool, declared: bool| {
        let mut p = problem();
        let a = value(&mut p, "a", 64);
        let b = p.add_value(Value::new("b", 64, space));
        step(&mut p, "make a", &[], &[a]);
        if declared {
            elementwise(&mut p, "make b", &[a], &[b]);
        } else {
            step(&mut p, "make b", &[a], &[b]);
        }
        let read_last: &[ValueId] = if later_reader { &[a, b] } else { &[b] };
        step(&mut p, "end", read_last, &[]);
        shared(&p, a, b)
    };
    assert!(program(RAM, false, true));
    assert!(!program(RAM, true, true), "a later step still reads it");
    assert!(!program(CARD, false, true), "the result lives in another space");
    assert!(!program(RAM, false, false), "the step has no right to overwrite");
}

#[test]
fn an_earlier_reader_does_not_matter() {
    let mut p = problem();
    let [a, side, b] = ["a", "side", "b"].map(|name| value(&mut p, name, 64));
    step(&mut p, "make a", &[], &[a]);
    step(&mut p, "look", &[a], &[side]);
    elementwise(&mut p, "make b", &[a], &[b]);
    step(&mut p, "end", &[side, b], &[]);
    assert!(shared(&p, a, b), "the last reader may overwrite, it need not be the only one");
}

#[test]
fn in_place_through_views_is_decided_on_storages() {
    let program = |later: fn(ValueId, ValueId) -> Vec<ValueId>| {
        let mut p = problem();
        let [a, b] = ["a", "b"].map(|name| value(&mut p, name, 256));
        let reshaped = view(&mut p, "reshaped", a, 0, 256);
        let row = view(&mut p, "row", a, 64, 64);
        step(&mut p, "make a", &[], &[a]);
        step(&mut p, "reshape", &[a], &[reshaped]);
        elementwise(&mut p, "make b", &[reshaped], &[b]);
        let mut reads = later(a, row);
        reads.push(b);
        step(&mut p, "end", &reads, &[]);
        shared(&p, a, b)
    };
    assert!(program(|_, _| vec![]), "the view is the last use of the storage");
    assert!(!program(|a, _| vec![a]), "the parent is read later");
    assert!(!program(|_, row| vec![row]), "another view is read later");
}

#[test]
fn residual_stream_never_moves() {
    let mut p = problem();
    let ids = pinned(&mut p, "ids", 64, Pin::Input);
    let mut stream = vec![value(&mut p, "embedded", 4096)];
    step(&mut p, "embed", &[ids], &[stream[0]]);
    for layer in 0..6 {
        for part in ["attention", "ffn"] {
            let [normed, out, next] =
                ["normed", "out", "next"].map(|name| value(&mut p, &format!("{part} {layer} {name}"), 4096));
            let wide = value(&mut p, "wide", 9000);
            let x = stream[stream.len() - 1];
            elementwise(&mut p, "norm", &[x], &[normed]);
            step(&mut p, part, &[normed], &[wide]);
            step(&mut p, "project", &[wide], &[out]);
            // The projected branch is listed first, and both have the right size.
            elementwise(&mut p, "add", &[out, x], &[next]);
            stream.push(next);
        }
    }
    let logits = pinned(&mut p, "logits", 4096, Pin::Output);
    step(&mut p, "head", &[stream[12]], &[logits]);
    let plan = packed(&p);
    for &x in &stream {
        assert!(together(&plan, x, stream[0]));
        assert_eq!(window(&plan, x).offset, window(&plan, stream[0]).offset);
    }
    assert!(plan.spaces[0].proven);
}

#[test]
fn the_result_that_lives_longest_chooses_first() {
    // One step makes the stream and its norm; the norm is listed first, both fit in both operands.
    let mut p = problem();
    let [x, branch, normed, next, y] = ["x", "branch", "normed", "next", "y"].map(|n| value(&mut p, n, 64));
    step(&mut p, "make x", &[], &[x]);
    step(&mut p, "make branch", &[x], &[branch]);
    elementwise(&mut p, "add norm", &[branch, x], &[normed, next]);
    step(&mut p, "use norm", &[normed], &[y]);
    step(&mut p, "end", &[next, y], &[]);
    let plan = packed(&p);
    assert!(together(&plan, next, x));
    assert!(together(&plan, normed, branch));
}

#[test]
fn no_other_operand_may_lie_in_the_storage() {
    let program = |second: fn(ValueId, ValueId) -> ValueId| {
        let mut p = problem();
        let [a, b] = ["a", "b"].map(|name| value(&mut p, name, 128));
        let half = view(&mut p, "half", a, 64, 64);
        step(&mut p, "make a", &[], &[a]);
        let overwrite = Overwrite { write: b, read: a };
        p.add_step(Step::new("make b", [a, second(a, half)], [b]).overwriting(overwrite));
        step(&mut p, "end", &[b], &[]);
        shared(&p, a, b)
    };
    assert!(!program(|_, half| half));
    assert!(!program(|a, _| a), "an operand listed twice is two operands");
}

#[test]
fn two_results_never_take_one_storage() {
    let mut p = problem();
    let [a, b, c] = ["a", "b", "c"].map(|name| value(&mut p, name, 64));
    step(&mut p, "make a", &[], &[a]);
    elementwise(&mut p, "split", &[a], &[b, c]);
    step(&mut p, "end", &[b, c], &[]);
    let plan = packed(&p);
    assert!(together(&plan, a, b) && !together(&plan, a, c));
}

#[test]
fn the_result_must_fit() {
    let program = |bytes, operand_offset, operand_bytes| {
        let mut p = problem();
        let a = value(&mut p, "a", 256);
        let operand = view(&mut p, "operand", a, operand_offset, operand_bytes);
        let b = value(&mut p, "b", bytes);
        step(&mut p, "make a", &[], &[a]);
        elementwise(&mut p, "make b", &[operand], &[b]);
        step(&mut p, "end", &[b], &[]);
        shared(&p, a, b)
    };
    assert!(program(256, 0, 256));
    assert!(program(100, 0, 256), "a smaller result fits");
    assert!(
        !program(257, 0, 256),
        "one byte too many, although it would fit in the rounded storage of a smaller one"
    );
    assert!(!program(64, 64, 64), "the operand does not start where its storage starts");
    assert!(!program(128, 0, 64), "the operand does not cover the result");
}

/// A result through a view over the whole of its parent; then a second result over the first, by a reader of the parent's
/// name for it.
#[test]
fn a_view_over_all_of_its_parent_hands_the_storage_on() {
    let mut p = problem();
    let [a, b, c] = ["a", "b", "c"].map(|name| value(&mut p, name, 256));
    let reshaped = view(&mut p, "reshaped", a, 0, 256);
    let again = view(&mut p, "reshaped again", reshaped, 0, 256);
    let flat = view(&mut p, "flat", b, 0, 256);
    step(&mut p, "make a", &[], &[a]);
    elementwise(&mut p, "make b", &[again], &[b]);
    elementwise(&mut p, "make c", &[flat], &[c]);
    step(&mut p, "between", &[], &[]);
    step(&mut p, "end", &[c], &[]);
    let plan = packed(&p);
    assert!(together(&plan, a, b) && together(&plan, b, c));
    let storage = &plan.storages[window(&plan, a).storage.index()];
    assert_eq!((storage.first, storage.last), (0, 4), "the life grows to the last reader of the last result");
    assert_eq!(plan.spaces[0].bytes, 256);
}

/// A smaller result in a larger storage keeps all of it: that is done only where the lower bound does not rise.
#[test]
fn a_smaller_result_takes_over_only_if_the_bound_does_not_rise() {
    let program = |other: u64| {
        let mut p = problem();
        let [a, b] = [("a", 1024), ("b", 64)].map(|(name, bytes)| value(&mut p, name, bytes));
        let c = value(&mut p, "c", other);
        step(&mut p, "make a", &[], &[a]);
        elementwise(&mut p, "make b", &[a], &[b]);
        step(&mut p, "make c", &[], &[c]);
        step(&mut p, "end", &[b, c], &[]);
        (shared(&p, a, b), packed(&p).spaces[0].lower_bound)
    };
    assert_eq!(program(64), (true, 1024 + 64));
    assert_eq!(program(1024), (false, 1024 + 64));
}

/// One space gains and another would lose: each decides for itself.
#[test]
fn smaller_results_are_decided_for_each_space() {
    let mut p = problem();
    let [a, b, c] = [("a", 1024), ("b", 64), ("c", 1024)].map(|(name, bytes)| value(&mut p, name, bytes));
    let on_card = |p: &mut Problem, name, bytes| p.add_value(Value::new(name, bytes, CARD));
    let (d, e) = (on_card(&mut p, "d", 1024), on_card(&mut p, "e", 64));
    step(&mut p, "make a, d", &[], &[a, d]);
    elementwise(&mut p, "make b, e", &[a, d], &[b, e]);
    step(&mut p, "make c", &[], &[c]);
    step(&mut p, "end", &[b, c, e], &[]);
    let plan = packed(&p);
    assert!(!together(&plan, a, b) && together(&plan, d, e));
    assert_eq!((plan.spaces[0].bytes, plan.spaces[1].bytes), (1024 + 64, 1024));
}

#[test]
fn pinned_values_are_never_overwritten_but_an_output_may_overwrite() {
    let program = |read_pin, write_pin| {
        let mut p = problem();
        let a = pinned(&mut p, "a", 64, read_pin);
        let b = pinned(&mut p, "b", 64, write_pin);
        let is_filled = matches!(read_pin, Pin::Input | Pin::Persistent);
        let written: &[ValueId] = if is_filled { &[] } else { &[a] };
        step(&mut p, "make a", &[], written);
        elementwise(&mut p, "make b", &[a], &[b]);
        step(&mut p, "look", &[b], &[]);
        step(&mut p, "end", &[], &[]);
        let plan = packed(&p);
        if write_pin == Pin::Output {
            assert_eq!(plan.storages[window(&plan, b).storage.index()].last, 3);
        }
        together(&plan, a, b)
    };
    for pin in [Pin::Input, Pin::Output, Pin::Fresh, Pin::Persistent] {
        assert!(!program(pin, Pin::None));
        assert!(!program(pin, Pin::Output));
    }
    assert!(program(Pin::None, Pin::None));
    assert!(program(Pin::None, Pin::Output));
    assert!(!program(Pin::None, Pin::Fresh));
    assert!(!program(Pin::None, Pin::Persistent));
}

#[test]
fn an_output_made_in_place_is_not_overwritten_by_its_last_reader() {
    let mut p = problem();
    let a = value(&mut p, "a", 64);
    let y = pinned(&mut p, "y", 64, Pin::Output);
    let b = value(&mut p, "b", 64);
    step(&mut p, "make a", &[], &[a]);
    elementwise(&mut p, "make y", &[a], &[y]);
    elementwise(&mut p, "make b", &[y], &[b]);
    step(&mut p, "look", &[b], &[]);
    assert!(shared(&p, a, y) && !shared(&p, y, b));
    // The same when this reader comes last of all, where the life alone would allow it.
    p.steps.pop();
    p.values[b.index()].pin = Pin::Output;
    assert!(shared(&p, a, y) && !shared(&p, y, b));
}

#[test]
fn a_value_with_an_output_for_a_view_is_not_overwritten() {
    let mut p = problem();
    let a = value(&mut p, "a", 64);
    let row = p.add_value(Value::new("row", 16, RAM).viewing(a, 0).pinned(Pin::Output));
    let y = pinned(&mut p, "y", 64, Pin::Output);
    step(&mut p, "make a", &[], &[a]);
    elementwise(&mut p, "make y", &[a], &[y]);
    assert!(!shared(&p, row, y));
}

#[test]
fn without_the_option_nothing_is_made_in_place() {
    let mut p = problem();
    let [a, b] = ["a", "b"].map(|name| value(&mut p, name, 64));
    step(&mut p, "make a", &[], &[a]);
    elementwise(&mut p, "make b", &[a], &[b]);
    step(&mut p, "end", &[b], &[]);
    for strategy in STRATEGIES {
        assert!(!together(&planned(&p, strategy, false), a, b));
    }
    assert!(!together(&planned(&p, memplan::Strategy::Naive, true), a, b));
    assert!(together(&planned(&p, memplan::Strategy::SizeClass, true), a, b));
}
