//! Layers that see only the latest positions let go of the others, and nothing else changes.

use backend::Fused;
use runtime::{Item, Params, Rows, RuntimeError};

use crate::common::*;

/// Positions on a page.
const PAGE: usize = 32;

/// Pages that a windowed layer has let go of behind a sequence of that length.
fn gone(len: usize) -> usize {
    (len + 1).saturating_sub(WINDOW) / PAGE
}

fn room_for(n_seq: usize, case: Case) -> Setup {
    let mut setup = Setup::new(case);
    setup.params.n_seq = n_seq;
    setup
}

/// Logits of the last `n` of the tokens in a fresh engine.
fn fresh(setup: &Setup, tokens: &[u32], n: usize) -> Vec<Vec<f32>> {
    setup.logits(tokens).split_off(tokens.len() - n)
}

#[test]
fn pages_of_a_window_are_given_back() {
    for (case, windowed, full) in [(WINDOWED[0], 6, 1), (WINDOWED[1], 2, 1)] {
        let mut setup = room_for(2, case);
        setup.params.body.n_ctx = 1024;
        setup.params.n_ubatch = 40;
        let mut engine = setup.engine();
        // Keys and values of one head of 32.
        let page = 2 * case.kv.row_bytes(32) * PAGE;
        let bytes = |full_pages: usize, windowed_pages: usize| {
            ((full * full_pages + windowed * windowed_pages) * page) as u64
        };
        // A window and a batch, which begin and end inside pages.
        assert_eq!(engine.memory().kv_bytes_reserved, bytes(2 * 1024 / PAGE, 2 * 3));
        let seq = engine.create();
        // After 47 and after 79 positions the next one is the first that no longer sees a whole page.
        for n in [46, 1, 31, 1, 1, 200, 300, 143, 1, 250] {
            append(&mut engine, seq, &tokens(n, 1));
            let len = engine.len(seq).unwrap();
            let pages = len.div_ceil(PAGE);
            assert!(pages - gone(len) <= 2, "windowed layers hold two pages at most");
            assert_eq!(engine.memory().kv_bytes_committed, bytes(pages, pages - gone(len)), "at {len}");
        }
        let before = engine.memory();
        let fork = engine.fork(seq).unwrap();
        assert_eq!(engine.memory(), before, "a fork shares");
        engine.remove(seq).unwrap();
        assert_eq!(engine.memory(), before, "and keeps");
        engine.remove(fork).unwrap();
        assert_eq!(engine.memory().kv_bytes_committed, 0);
    }
}

#[test]
fn a_window_refuses_cuts_it_cannot_serve() {
    let (prompt, more) = (tokens(200, 1), tokens(20, 2));
    for case in WINDOWED {
        let setup = room_for(3, case);
        let mut engine = setup.engine();
        let seq = engine.create();
        append(&mut engine, seq, &prompt);
        // The first position that the next one sees there is the first that is left.
        let expected = gone(200) * PAGE + WINDOW - 1;
        assert_eq!(expected, 175);
        for to in 1..expected {
            match engine.truncate(seq, to) {
                Err(RuntimeError::WindowGone { seq: found, to: asked, earliest }) => {
                    assert_eq!((found, asked, earliest), (seq, to, expected));
                }
                result => panic!("{case:?} to {to}: {result:?}"),
            }
        }
        assert!(matches!(engine.truncate(seq, 201), Err(RuntimeError::TruncateBeyond { .. })));
        assert_eq!(engine.len(seq).unwrap(), 200, "refusals change nothing");
        for to in [200, 192, 191, expected, 0] {
            let fork = engine.fork(seq).unwrap();
            engine.truncate(fork, to).unwrap();
            let found = append(&mut engine, fork, &more);
            engine.remove(fork).unwrap();
            let wanted = fresh(&setup, &[&prompt[..to], &more].concat(), more.len());
            assert_same_bits(&wanted, &found, &format!("{case:?} cut to {to}"));
        }
    }
}

#[test]
fn windowed_sequences_that_share_pages_leave_each_other_alone() {
    let (prompt, left, right) = (tokens(70, 1), tokens(40, 2), tokens(50, 3));
    for case in WINDOWED {
        let setup = room_for(3, case);
        // At the end, inside the page that both see, and at nothing.
        for to in [70, 60, 0] {
            let mut engine = setup.engine();
            let a = engine.create();
            append(&mut engine, a, &prompt);
            let b = engine.fork(a).unwrap();
            engine.truncate(b, to).unwrap();
            // One goes past the window, so that it gives back what the other still sees.
            let tail_a = append(&mut engine, a, &left);
            let tail_b = append(&mut engine, b, &right);
            let what = format!("{case:?} truncated to {to}");
            assert_same_bits(&fresh(&setup, &[&prompt[..to], &right].concat(), 50), &tail_b, &what);
            assert_same_bits(&fresh(&setup, &[&prompt[..], &left].concat(), 40), &tail_a, &what);
        }
    }
}

#[test]
fn batches_may_shrink_and_grow_to_what_the_windows_were_made_for() {
    let prompt = tokens(200, 1);
    for case in WINDOWED {
        let mut setup = Setup::new(case);
        setup.params.n_ubatch = 64;
        let expected = setup.logits(&prompt);
        let mut engine = setup.engine();
        let seq = engine.create();
        let mut found = append(&mut engine, seq, &prompt[..70]);
        let reserved = engine.memory().kv_bytes_reserved;
        engine.rebuild(Params { n_ubatch: 5, fusions: Fused::NONE, ..setup.params }).unwrap();
        found.extend(append(&mut engine, seq, &prompt[70..90]));
        match engine.rebuild(Params { n_ubatch: 65, ..setup.params }) {
            Err(RuntimeError::CacheChanged { what: "the batch", exists, asked }) => {
                assert!(exists.starts_with("64 tokens"), "{exists}");
                assert_eq!(asked, "65");
            }
            result => panic!("{result:?}"),
        }
        assert_eq!(engine.params().n_ubatch, 5, "a refusal changes nothing");
        engine.rebuild(setup.params).unwrap();
        found.extend(append(&mut engine, seq, &prompt[90..]));
        assert_same_bits(&expected, &found, &format!("{case:?}"));
        assert_eq!(engine.memory().kv_bytes_reserved, reserved);
    }
}

#[test]
fn a_failed_run_leaves_no_positions_where_windows_let_go_of_them() {
    let (prompt, more) = (tokens(60, 1), tokens(60, 2));
    for case in WINDOWED {
        let mut setup = room_for(2, case);
        setup.params.body.n_ctx = 128;
        setup.params.n_ubatch = 16;
        // In one item or in two, the fourth page of the first sequence is the ninth of eight. By then its windows
        // are past what they saw before the run.
        for cut in [60, 20] {
            let mut engine = setup.engine();
            let a = engine.create();
            append(&mut engine, a, &prompt);
            let b = engine.fork(a).unwrap();
            let full = engine.create();
            append(&mut engine, full, &tokens(128, 3));
            let parts = more.split_at(cut);
            let item = |tokens| Item { seq: a, tokens, rows: Rows::Last };
            let items = [item(parts.0), item(parts.1)];
            let items = if parts.1.is_empty() { &items[..1] } else { &items };
            let error = engine.process(items, &mut |_, _, _| {}).unwrap_err();
            assert!(matches!(error, RuntimeError::OutOfPages { pages: 8 }), "{error}");
            let lengths = [a, b, full].map(|seq| engine.len(seq).unwrap());
            assert_eq!(lengths, [0, 60, 128], "{case:?} cut at {cut}");

            engine.remove(full).unwrap();
            let what = format!("{case:?} after a failed run");
            assert_same_bits(&setup.logits(&prompt), &append(&mut engine, a, &prompt), &what);
            let expected = fresh(&setup, &[&prompt[..], &more].concat(), 60);
            assert_same_bits(&expected, &append(&mut engine, b, &more), &what);
        }
    }
}
