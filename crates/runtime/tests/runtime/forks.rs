//! Sequences that share pages are as good as fresh ones.

use runtime::{Engine, SeqId};

use crate::common::*;

/// Logits of the last `n` of the tokens in a fresh engine.
fn fresh(setup: &Setup, tokens: &[u32], n: usize) -> Vec<Vec<f32>> {
    setup.logits(tokens).split_off(tokens.len() - n)
}

fn room_for_many(case: Case) -> Setup {
    let mut setup = Setup::new(case);
    setup.params.n_seq = 3;
    setup
}

#[test]
fn forked_and_truncated_sequences_equal_fresh_ones() {
    let (prompt, left, right) = (tokens(96, 1), tokens(50, 2), tokens(41, 3));
    for case in all_cases() {
        let setup = room_for_many(case);
        // At a page boundary, inside a page, with one position on a page.
        for at in [64, 75, 65] {
            let mut engine = setup.engine();
            let a = engine.create();
            append(&mut engine, a, &prompt[..at]);
            let b = engine.fork(a).unwrap();
            // In turns, so that each reads what it wrote before the other wrote.
            let mut tail_a = append(&mut engine, a, &left[..20]);
            let mut tail_b = append(&mut engine, b, &right[..5]);
            tail_a.extend(append(&mut engine, a, &left[20..]));
            tail_b.extend(append(&mut engine, b, &right[5..]));
            let what = format!("{case:?} forked at {at}");
            assert_same_bits(&fresh(&setup, &[&prompt[..at], &left].concat(), 50), &tail_a, &what);
            assert_same_bits(&fresh(&setup, &[&prompt[..at], &right].concat(), 41), &tail_b, &what);
        }
    }
}

#[test]
fn truncating_into_a_shared_page_leaves_the_other_sequence_alone() {
    let (prompt, left, right) = (tokens(70, 1), tokens(20, 2), tokens(30, 3));
    for case in CASES {
        let setup = room_for_many(case);
        // Inside the second page, which both own whole; at its start; to nothing.
        for to in [45, 32, 0] {
            let mut engine = setup.engine();
            let a = engine.create();
            append(&mut engine, a, &prompt);
            let b = engine.fork(a).unwrap();
            engine.truncate(b, to).unwrap();
            assert_eq!((engine.len(a).unwrap(), engine.len(b).unwrap()), (70, to));
            let tail_b = append(&mut engine, b, &right);
            let tail_a = append(&mut engine, a, &left);
            let what = format!("{case:?} truncated to {to}");
            assert_same_bits(&fresh(&setup, &[&prompt[..to], &right].concat(), 30), &tail_b, &what);
            assert_same_bits(&fresh(&setup, &[&prompt[..], &left].concat(), 20), &tail_a, &what);
        }
    }
}

#[test]
fn branches_may_go_on_in_one_batch() {
    let (prompt, left, right) = (tokens(40, 1), tokens(20, 2), tokens(30, 3));
    let setup = room_for_many(QUICK);
    let mut engine = setup.engine();
    let a = engine.create();
    append(&mut engine, a, &prompt);
    let b = engine.fork(a).unwrap();
    let tails = append_many(&mut engine, &[(b, &right), (a, &left)]);
    let expected = |tail: &[u32]| fresh(&setup, &[&prompt[..], tail].concat(), tail.len());
    assert_same_bits(&expected(&right), &tails[0], "the fork");
    assert_same_bits(&expected(&left), &tails[1], "its origin");
}

#[test]
fn reused_pages_hold_nothing_of_their_last_owner() {
    let (prompt, other) = (tokens(100, 1), tokens(130, 2));
    let setup = Setup::new(QUICK);
    let expected = setup.logits(&prompt);
    let mut engine = setup.engine();
    let again = |engine: &mut Engine, seq: SeqId| {
        engine.remove(seq).unwrap();
        engine.create()
    };
    let seq = engine.create();
    append(&mut engine, seq, &other);
    let seq = again(&mut engine, seq);
    assert_same_bits(&expected, &append(&mut engine, seq, &prompt), "in used pages");
    engine.truncate(seq, 1).unwrap();
    assert_same_bits(&expected[1..], &append(&mut engine, seq, &prompt[1..]), "after a truncation");
}
