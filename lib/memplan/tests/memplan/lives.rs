//! When a value needs its memory.

use memplan::{Fault, Options, Pin, PlanError, StepId, Strategy, ValueId, check, plan};

use crate::common::*;

#[test]
fn liveness_reuses_buffers_along_chain() {
    let mut p = problem();
    let mut last = pinned(&mut p, "in", 1000, Pin::Input);
    for i in 0..10 {
        let next = value(&mut p, &format!("v{i}"), 1000);
        step(&mut p, &format!("s{i}"), &[last], &[next]);
        last = next;
    }
    step(&mut p, "end", &[last], &[]);
    // The input, and two windows in turn.
    for strategy in [Strategy::Packed, Strategy::SizeClass] {
        assert_eq!(planned(&p, strategy, false).spaces[0].bytes, 3 * 1024);
    }
    assert_eq!(planned(&p, Strategy::Naive, false).spaces[0].bytes, 11 * 1024);
}

#[test]
fn parallel_chains_do_not_share() {
    let mut p = problem();
    let x = pinned(&mut p, "x", 64, Pin::Input);
    let (mut a, mut b) = (vec![x], vec![x]);
    for i in 0..4 {
        for (name, chain) in [("a", &mut a), ("b", &mut b)] {
            let next = value(&mut p, &format!("{name}{i}"), 64);
            step(&mut p, &format!("make {name}{i}"), &[chain[i]], &[next]);
            chain.push(next);
        }
    }
    let y = pinned(&mut p, "y", 64, Pin::Output);
    step(&mut p, "join", &[a[4], b[4]], &[y]);
    for strategy in STRATEGIES {
        for in_place in [false, true] {
            let plan = planned(&p, strategy, in_place);
            for i in 1..=4 {
                // Of each chain the value made last is alive when the other chain makes its next.
                assert!(!overlap(&plan, a[i], b[i]));
                assert!(i == 4 || !overlap(&plan, a[i + 1], b[i]));
            }
        }
    }
    assert_eq!(planned(&p, Strategy::Packed, false).spaces[0].bytes, 4 * 64);
}

#[test]
fn cycle_graph_allocation_fails() {
    let mut p = problem();
    let a = value(&mut p, "a", 64);
    let b = value(&mut p, "b", 64);
    step(&mut p, "make a", &[b], &[a]);
    step(&mut p, "make b", &[a], &[b]);
    for strategy in STRATEGIES {
        let error = plan(&p, &Options { strategy, in_place: true }).unwrap_err();
        let PlanError::ReadBeforeWrite { value, reader, writer } = &error else { panic!("{error}") };
        assert_eq!((value.id, value.name.as_str()), (b, "b"));
        assert_eq!((reader.id, reader.name.as_str()), (StepId(0), "make a"));
        assert_eq!((writer.id, writer.name.as_str()), (StepId(1), "make b"));
    }
}

#[test]
fn a_step_cannot_read_what_it_writes() {
    let mut p = problem();
    let a = value(&mut p, "a", 64);
    let part = view(&mut p, "part", a, 0, 32);
    step(&mut p, "loop", &[part], &[a]);
    let error = plan(&p, &Options::default()).unwrap_err();
    assert!(matches!(error, PlanError::ReadBeforeWrite { value, .. } if value.id == part));
}

#[test]
fn inputs_are_never_recycled() {
    let mut p = problem();
    let early = pinned(&mut p, "early", 256, Pin::Input);
    let late = pinned(&mut p, "late", 256, Pin::Input);
    let (a, b, c) = (value(&mut p, "a", 256), value(&mut p, "b", 256), value(&mut p, "c", 256));
    let y = pinned(&mut p, "y", 256, Pin::Output);
    elementwise(&mut p, "first", &[early], &[a]);
    elementwise(&mut p, "second", &[a], &[b]);
    // The second input is first touched here, after the first one is no longer read.
    elementwise(&mut p, "third", &[b, late], &[c]);
    elementwise(&mut p, "fourth", &[c], &[y]);
    for strategy in STRATEGIES {
        let plan = planned(&p, strategy, true);
        for input in [early, late] {
            let storage = &plan.storages[window(&plan, input).storage.index()];
            assert_eq!((storage.first, storage.last), (0, 3));
            assert_eq!(storage.members, [input]);
            for other in [a, b, c, y] {
                assert!(!overlap(&plan, input, other));
            }
        }
        assert!(!overlap(&plan, early, late));
    }
}

/// Steps as in the program, and as an order by readiness would have them, which runs every step without operands first.
#[test]
fn liveness_follows_execution_order() {
    let program = |order: [usize; 6]| {
        let mut p = problem();
        let [kept, u, w, r, v] = ["kept", "u", "w", "r", "v"].map(|name| value(&mut p, name, 64));
        let y = pinned(&mut p, "y", 64, Pin::Output);
        let steps: [(&[ValueId], ValueId); 6] =
            [(&[], kept), (&[kept], u), (&[u], w), (&[], r), (&[r, kept], v), (&[w, v], y)];
        for i in order {
            step(&mut p, &format!("s{i}"), steps[i].0, &[steps[i].1]);
        }
        (p, kept, w)
    };
    let (executed, kept, w) = program([0, 1, 2, 3, 4, 5]);
    let (by_readiness, ..) = program([0, 3, 1, 4, 2, 5]);

    let plan = planned(&executed, Strategy::Packed, false);
    assert!(!overlap(&plan, kept, w));

    // In the other order `kept` is dead when `w` is made; run in the real order, that plan destroys `kept`.
    let wrong = planned(&by_readiness, Strategy::Packed, false);
    assert!(overlap(&wrong, kept, w));
    let fault = check(&executed, &wrong).unwrap_err();
    assert!(matches!(fault, Fault::Lost { value, .. } if value.id == kept));
}

#[test]
fn staging_is_fresh_and_rewritten() {
    let mut p = problem();
    let x = pinned(&mut p, "x", 64, Pin::Input);
    let [a, b, c] = ["a", "b", "c"].map(|name| value(&mut p, name, 64));
    let staged = pinned(&mut p, "b for the card", 64, Pin::Fresh);
    let y = pinned(&mut p, "y", 64, Pin::Output);
    elementwise(&mut p, "make a", &[x], &[a]);
    elementwise(&mut p, "make b", &[a], &[b]);
    elementwise(&mut p, "stage b", &[b], &[staged]);
    elementwise(&mut p, "make c", &[staged], &[c]);
    elementwise(&mut p, "make y", &[c], &[y]);
    for strategy in STRATEGIES {
        let plan = planned(&p, strategy, true);
        let storage = &plan.storages[window(&plan, staged).storage.index()];
        assert_eq!(
            (storage.first, storage.last),
            (0, 4),
            "no step of the run may use its window for something else"
        );
        assert_eq!(storage.members, [staged]);
        for other in [x, a, b, c, y] {
            assert!(!overlap(&plan, staged, other));
        }
        // Written by the same step on every run: the plan is the same again.
        assert_eq!(plan, planned(&p, strategy, true));
    }
}

#[test]
fn dead_nodes_get_no_memory() {
    let mut p = problem();
    let x = pinned(&mut p, "x", 64, Pin::Input);
    let dead = value(&mut p, "dead", 1 << 40);
    let dead_view = view(&mut p, "dead view", dead, 64, 64);
    let unread = view(&mut p, "view of x that nobody reads", x, 0, 32);
    let y = pinned(&mut p, "y", 64, Pin::Output);
    step(&mut p, "orphan", &[x], &[dead]);
    step(&mut p, "work", &[x], &[y]);
    for strategy in STRATEGIES {
        let plan = planned(&p, strategy, true);
        for nothing in [dead, dead_view, unread] {
            assert_eq!(plan.placement(nothing), None);
        }
        assert_eq!((plan.spaces[0].bytes, plan.spaces[0].naive), (128, 128));
    }
}

#[test]
fn scratch_lives_for_its_step_alone() {
    let mut p = problem();
    let x = pinned(&mut p, "x", 64, Pin::Input);
    let [first, second] = ["first scratch", "second scratch"].map(|n| pinned(&mut p, n, 256, Pin::Scratch));
    let mid = value(&mut p, "mid", 64);
    let y = pinned(&mut p, "y", 64, Pin::Output);
    step(&mut p, "begin", &[x], &[mid, first]);
    step(&mut p, "end", &[mid], &[y, second]);
    let plan = packed(&p);
    assert!(overlap(&plan, first, second));
    assert_eq!(plan.spaces[0].bytes, 64 + 256 + 64 + 64);
    for other in [x, mid, y] {
        assert!(!overlap(&plan, first, other) || other == y);
        assert!(!overlap(&plan, second, other));
    }
}

#[test]
fn views_extend_the_life_of_their_parent() {
    let mut p = problem();
    let [a, b, c] = ["a", "b", "c"].map(|name| value(&mut p, name, 256));
    let half = view(&mut p, "half", a, 128, 128);
    let quarter = view(&mut p, "quarter", half, 64, 64);
    let y = pinned(&mut p, "y", 64, Pin::Output);
    step(&mut p, "make a", &[], &[a]);
    step(&mut p, "make b", &[a], &[b]);
    step(&mut p, "make c", &[b], &[c]);
    step(&mut p, "make y", &[c, quarter], &[y]);
    for strategy in STRATEGIES {
        let plan = planned(&p, strategy, true);
        let storage = &plan.storages[window(&plan, a).storage.index()];
        assert_eq!((storage.first, storage.last), (0, 3));
        assert_eq!(storage.members, [a, half, quarter]);
        assert_eq!(storage.bytes, 256, "a view costs nothing");
        assert_eq!(window(&plan, quarter).offset, window(&plan, a).offset + 192);
        assert!(!overlap(&plan, a, b) && !overlap(&plan, a, c));
    }
}

#[test]
fn a_view_that_is_an_output_keeps_its_parent_to_the_end() {
    let mut p = problem();
    let [a, b, c] = ["a", "b", "c"].map(|name| value(&mut p, name, 64));
    let row = p.add_value(memplan::Value::new("row", 32, RAM).viewing(a, 32).pinned(Pin::Output));
    step(&mut p, "make a", &[], &[a]);
    elementwise(&mut p, "make b", &[a], &[b]);
    elementwise(&mut p, "make c", &[b], &[c]);
    step(&mut p, "end", &[c], &[]);
    for strategy in STRATEGIES {
        let plan = planned(&p, strategy, true);
        assert_eq!(plan.storages[window(&plan, row).storage.index()].last, 3);
        assert!(!overlap(&plan, row, b) && !overlap(&plan, row, c));
    }
}

#[test]
fn an_output_lives_to_the_end_and_no_longer_than_it_must_before() {
    let mut p = problem();
    let [a, b, c] = ["a", "b", "c"].map(|name| value(&mut p, name, 64));
    let early = pinned(&mut p, "early", 64, Pin::Output);
    step(&mut p, "make a", &[], &[a]);
    step(&mut p, "make b", &[a], &[b]);
    step(&mut p, "make early", &[b], &[early]);
    step(&mut p, "make c", &[early], &[c]);
    step(&mut p, "end", &[c], &[]);
    let plan = planned(&p, Strategy::Packed, false);
    let storage = &plan.storages[window(&plan, early).storage.index()];
    assert_eq!((storage.first, storage.last), (2, 4));
    assert!(!overlap(&plan, early, c));
    assert!(overlap(&plan, early, a), "before it is written, its window serves others");
}

#[test]
fn a_persistent_region_is_read_and_written_by_any_step_and_recycled_by_none() {
    let mut p = problem();
    let cache = pinned(&mut p, "cache", 256, Pin::Persistent);
    let unused = pinned(&mut p, "another layer's cache", 128, Pin::Persistent);
    let row = view(&mut p, "row", cache, 64, 64);
    let x = pinned(&mut p, "x", 64, Pin::Input);
    let [a, b] = ["a", "b"].map(|name| value(&mut p, name, 256));
    let y = pinned(&mut p, "y", 256, Pin::Output);
    // Read before any step has written it, twice written, and once both by one step.
    elementwise(&mut p, "look", &[row, x], &[a]);
    elementwise(&mut p, "store", &[a], &[cache]);
    elementwise(&mut p, "update", &[cache], &[cache]);
    elementwise(&mut p, "read all", &[cache], &[b]);
    elementwise(&mut p, "end", &[b], &[y]);
    for strategy in STRATEGIES {
        let plan = planned(&p, strategy, true);
        for region in [cache, unused] {
            let storage = &plan.storages[window(&plan, region).storage.index()];
            assert_eq!((storage.first, storage.last), (0, 4));
            for other in [x, a, b, y] {
                assert!(!overlap(&plan, region, other));
            }
        }
        assert!(!overlap(&plan, cache, unused));
        assert_eq!(window(&plan, row).offset, window(&plan, cache).offset + 64);
    }
}
