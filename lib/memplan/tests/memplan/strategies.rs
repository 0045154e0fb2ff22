//! Offsets: what each strategy promises.

use memplan::{Pin, Problem, StepId, Strategy, ValueId};

use crate::common::*;

/// Values made and read one after another, so that no two live at the same time.
fn sequence(sizes: &[u64]) -> (Problem, Vec<ValueId>) {
    let mut p = problem();
    let values: Vec<ValueId> =
        sizes.iter().map(|&bytes| value(&mut p, &format!("{bytes} bytes"), bytes)).collect();
    for &v in &values {
        step(&mut p, "make", &[], &[v]);
        step(&mut p, "use", &[v], &[]);
    }
    (p, values)
}

#[test]
fn size_class_recycles_exact_classes() {
    const KIB: u64 = 1 << 10;
    let same = |first: u64, second: u64| {
        let (p, v) = sequence(&[first, second]);
        let plan = planned(&p, Strategy::SizeClass, false);
        assert!(!together(&plan, v[0], v[1]), "recycling is not sharing");
        window(&plan, v[0]).offset == window(&plan, v[1]).offset
    };
    assert!(same(1000, 1000));
    assert!(same(1000, 600), "both are in the class of 1024");
    assert!(!same(1000, 500), "a larger buffer is not taken for a smaller class");
    assert!(!same(1024, 1025));
    assert!(same(9 * KIB, 16 * KIB), "16 KiB is the largest power");
    assert!(same(17 * KIB, 32 * KIB), "from there on it goes in steps of 16 KiB");
    assert!(same(33 * KIB, 48 * KIB));
    assert!(!same(32 * KIB, 33 * KIB));
    assert!(!same(64 * KIB, 48 * KIB));
}

#[test]
fn size_class_adds_up_classes() {
    let (p, v) = sequence(&[1000, 17 << 10, 600, 1 << 10]);
    let plan = planned(&p, Strategy::SizeClass, false);
    assert_eq!(plan.spaces[0].bytes, 1024 + (32 << 10));
    assert_eq!(window(&plan, v[0]).offset, window(&plan, v[3]).offset);
    assert!(!plan.spaces[0].proven);
}

#[test]
fn a_buffer_is_not_released_before_its_last_reader_is_done() {
    let mut p = problem();
    let [a, b] = ["a", "b"].map(|name| value(&mut p, name, 64));
    step(&mut p, "make a", &[], &[a]);
    step(&mut p, "make b", &[a], &[b]);
    step(&mut p, "end", &[b], &[]);
    let plan = planned(&p, Strategy::SizeClass, false);
    assert!(!overlap(&plan, a, b));
}

/// The offsets of values that live from the first to the last of these steps, and the size, in units of 64 bytes. Of those
/// that begin at one step the one that lives longest is placed first.
fn best_fit(items: &[(usize, usize, u64)]) -> (Vec<u64>, u64) {
    let p = intervals(items, 64);
    let plan = planned(&p, Strategy::BestFit, false);
    let offset = |v: usize| window(&plan, ValueId::new(v)).offset / 64;
    ((0..items.len()).map(offset).collect(), plan.spaces[0].bytes / 64)
}

#[test]
fn best_fit_takes_the_smallest_block_that_holds() {
    // Blocks of 4 and 2 units become free; the first of the last two takes 2 of them, the second 3 of the others.
    let items = [(0, 3, 4), (1, 6, 1), (2, 3, 2), (3, 6, 1), (4, 6, 2), (5, 6, 3)];
    assert_eq!(best_fit(&items), (vec![0, 4, 5, 7, 5, 0], 8));
}

#[test]
fn best_fit_grows_the_last_block_when_no_other_holds() {
    // The free unit at the end becomes part of the window of 3; the one in the middle stays free.
    let items = [(0, 5, 2), (1, 3, 1), (2, 5, 2), (3, 4, 1), (5, 6, 3)];
    assert_eq!(best_fit(&items), (vec![0, 2, 3, 5, 5], 8));
}

#[test]
fn best_fit_merges_what_is_free_side_by_side() {
    // Three windows become free, the middle one last; then comes one that needs all of them.
    let items = [(0, 4, 2), (1, 6, 2), (2, 5, 2), (3, 8, 1), (7, 8, 6)];
    assert_eq!(best_fit(&items), (vec![0, 2, 4, 6, 0], 7));
}

#[test]
fn naive_shares_nothing() {
    let (p, v) = sequence(&[100, 100, 200, 0, 300]);
    let plan = planned(&p, Strategy::Naive, true);
    let offsets: Vec<u64> = v.iter().map(|&v| window(&plan, v).offset).collect();
    assert_eq!(offsets, [0, 128, 256, 512, 512]);
    assert_eq!(plan.spaces[0].bytes, 512 + 320);
    assert_eq!(plan.spaces[0].bytes, plan.spaces[0].naive);
}

#[test]
fn packing_needs_no_more_than_what_lives_at_once() {
    let (p, v) = sequence(&[100, 100, 200, 0, 300]);
    let plan = planned(&p, Strategy::Packed, true);
    let report = &plan.spaces[0];
    assert_eq!((report.bytes, report.lower_bound, report.naive), (320, 320, 832));
    assert!(report.proven);
    assert_eq!((report.bound_step, report.bound_values.as_slice()), (StepId(8), &v[4..]));
}

#[test]
fn packing_tries_further_orders_when_the_first_misses_the_bound() {
    // By decreasing size the last storage placed finds 4 units taken below it by one neighbour in time and 3 above that by the
    // other, so it ends at 10 units; 7 is the most that lives at once.
    let items = [(5, 6, 4), (0, 2, 4), (3, 6, 3), (0, 3, 3)];
    let p = intervals(&items, 64);
    let plan = planned(&p, Strategy::Packed, false);
    assert_eq!(plan.spaces[0].bytes, 7 * 64);
    assert!(plan.spaces[0].proven);
}

#[test]
fn packing_is_not_worse_than_size_classes_where_every_greedy_order_is() {
    // Each of the greedy orders leaves the window of 7 units above gaps of 5 and ends at 25.
    let items = [(2, 3, 5), (1, 2, 5), (0, 1, 5), (2, 3, 7), (0, 1, 5), (2, 3, 5)];
    let p = intervals(&items, 16 << 10);
    for strategy in [Strategy::SizeClass, Strategy::Packed] {
        let plan = planned(&p, strategy, false);
        assert_eq!(plan.spaces[0].bytes, 22 * (16 << 10));
        assert!(plan.spaces[0].proven);
    }
}

/// One value for each (first, last, units).
fn intervals(items: &[(usize, usize, u64)], unit: u64) -> Problem {
    let mut p = problem();
    let values: Vec<ValueId> =
        items.iter().enumerate().map(|(i, item)| value(&mut p, &format!("v{i}"), item.2 * unit)).collect();
    let steps = items.iter().map(|item| item.1 + 1).max().unwrap_or(0);
    for s in 0..steps {
        let those = |at: fn(&(usize, usize, u64)) -> usize| -> Vec<ValueId> {
            values.iter().zip(items).filter(|(_, item)| at(item) == s).map(|(&v, _)| v).collect()
        };
        step(&mut p, &format!("s{s}"), &those(|item| item.1), &those(|item| item.0));
    }
    p
}

#[test]
fn planning_is_deterministic() {
    let mut p = problem();
    let x = pinned(&mut p, "x", 500, Pin::Input);
    let mut made = vec![x];
    // Many equal sizes and lives, so that every tie-break is used.
    for i in 0..60 {
        let v = value(&mut p, &format!("v{i}"), 64 * (1 + i % 3));
        let reads = [made[i as usize / 2], made[i as usize]];
        elementwise(&mut p, &format!("s{i}"), &reads, &[v]);
        made.push(v);
    }
    step(&mut p, "end", &[made[60]], &[]);
    for strategy in STRATEGIES {
        for in_place in [false, true] {
            let first = planned(&p, strategy, in_place);
            for _ in 0..3 {
                assert_eq!(first, planned(&p.clone(), strategy, in_place));
            }
        }
    }
}

#[test]
fn spaces_are_planned_apart() {
    let mut p = problem();
    let a = value(&mut p, "a", 64);
    let b = p.add_value(memplan::Value::new("b", 128, CARD));
    step(&mut p, "make a", &[], &[a]);
    step(&mut p, "copy", &[a], &[b]);
    step(&mut p, "end", &[b], &[]);
    let plan = packed(&p);
    assert_eq!((window(&plan, a).offset, window(&plan, b).offset), (0, 0));
    assert_eq!((plan.spaces[0].bytes, plan.spaces[1].bytes), (64, 128));
}

#[test]
fn the_bound_counts_fresh_windows_at_every_step_and_names_what_causes_it() {
    let mut p = problem();
    let staged = pinned(&mut p, "staged", 100, Pin::Fresh);
    let [a, b, c] = [("a", 300), ("b", 64), ("c", 64)].map(|(name, bytes)| value(&mut p, name, bytes));
    step(&mut p, "make c", &[], &[c]);
    step(&mut p, "make a", &[c], &[a]);
    elementwise(&mut p, "make b", &[a], &[b]);
    step(&mut p, "stage", &[b], &[staged]);
    step(&mut p, "end", &[staged], &[]);
    let plan = planned(&p, Strategy::Packed, false);
    let report = &plan.spaces[0];
    assert_eq!(report.lower_bound, 128 + 320 + 64);
    assert_eq!(report.bound_step, StepId(1));
    assert_eq!(report.bound_values, [a, staged, c]);
}

#[test]
fn the_bound_names_the_value_that_holds_a_shared_storage_at_that_step() {
    let mut p = problem();
    let [a, b, c, d] = ["a", "b", "c", "d"].map(|name| value(&mut p, name, 64));
    step(&mut p, "make a", &[], &[a]);
    elementwise(&mut p, "make b", &[a], &[b, c]);
    elementwise(&mut p, "make d", &[b], &[d]);
    step(&mut p, "end", &[c, d], &[]);
    let plan = packed(&p);
    assert!(together(&plan, a, c) && together(&plan, b, d));
    let report = &plan.spaces[0];
    // Both storages are full at the second step, and hold what that step makes, not what was or will be there.
    assert_eq!(report.bound_step, StepId(1));
    assert_eq!(report.bound_values, [b, c]);
}

#[test]
fn an_empty_program_needs_nothing_but_what_is_pinned() {
    let mut p = problem();
    pinned(&mut p, "x", 10, Pin::Input);
    value(&mut p, "nobody's", 10);
    for strategy in STRATEGIES {
        let plan = planned(&p, strategy, true);
        assert_eq!((plan.spaces[0].bytes, plan.spaces[1].bytes), (64, 0));
    }
    assert_eq!(packed(&Problem::default()).placements, []);
}
