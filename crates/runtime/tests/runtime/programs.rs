//! Programs come and go; the cache stays.

use backend::Fused;
use runtime::Params;

use crate::common::*;

#[test]
fn allocator_survives_rebuild() {
    let prompt = tokens(150, 1);
    for case in CASES {
        let setup = Setup::new(case);
        let expected = setup.logits(&prompt);
        let mut engine = setup.engine();
        let seq = engine.create();
        let mut found = append(&mut engine, seq, &prompt[..50]);
        let before = engine.memory();

        let smaller = Params { n_ubatch: 7, head_rows: 2, fusions: Fused::NONE, ..setup.params };
        engine.rebuild(smaller).unwrap();
        assert_eq!(engine.params(), &smaller);
        assert_eq!(engine.memory().kv_bytes_committed, before.kv_bytes_committed);
        assert_eq!(engine.memory().kv_bytes_reserved, before.kv_bytes_reserved);
        assert_eq!(engine.len(seq).unwrap(), 50);
        found.extend(append(&mut engine, seq, &prompt[50..90]));

        // An arena that must grow moves nothing that lives in the cache.
        engine.rebuild(Params { n_ubatch: 256, head_rows: 64, ..setup.params }).unwrap();
        found.extend(append(&mut engine, seq, &prompt[90..]));
        assert_same_bits(&expected, &found, &format!("{case:?}"));
    }
}

#[test]
fn programs_are_reused_by_parameters_alone() {
    let mut setup = Setup::new(QUICK);
    setup.params.n_seq = 2;
    let mut engine = setup.engine();
    assert_eq!(engine.programs_made(), 2, "body and head");
    let [a, b] = [(); 2].map(|()| engine.create());
    append(&mut engine, a, &tokens(200, 1));
    append_many(&mut engine, &[(a, &tokens(1, 2)), (b, &tokens(60, 3))]);
    append(&mut engine, b, &tokens(1, 4));
    assert_eq!(engine.programs_made(), 2, "batches of all kinds run the same programs");

    engine.rebuild(Params { n_ubatch: 32, ..setup.params }).unwrap();
    assert_eq!(engine.programs_made(), 3, "the head does not depend on the batch");
    engine.rebuild(Params { head_rows: 1, ..setup.params }).unwrap();
    assert_eq!(engine.programs_made(), 4, "the body does not depend on the head's rows");
    engine.rebuild(Params { fusions: Fused::NONE, ..setup.params }).unwrap();
    assert_eq!(engine.programs_made(), 6, "both have fusions");
    for params in [setup.params, Params { n_ubatch: 32, ..setup.params }] {
        engine.rebuild(params).unwrap();
        assert_eq!(engine.programs_made(), 6, "nothing new");
    }
}

#[test]
fn one_arena_serves_body_and_head() {
    let engine = Setup::new(QUICK).engine();
    let [body, head] = [engine.body(), engine.head()].map(|p| p.arenas[0].bytes);
    assert_eq!(engine.memory().arena_bytes, body.max(head));
}

#[test]
fn pages_are_given_back() {
    let mut setup = Setup::new(QUICK);
    setup.params.n_seq = 2;
    let mut engine = setup.engine();
    let kv = |engine: &runtime::Engine| engine.memory().kv_bytes_committed;
    // Two layers, keys and values of 2 heads of 16 f16 each, 32 positions a page.
    let page = 2 * 2 * 2 * 16 * 2 * 32;
    assert_eq!(kv(&engine), 0);
    assert_eq!(engine.memory().kv_bytes_reserved, 2 * 256 / 32 * page);
    let a = engine.create();
    append(&mut engine, a, &tokens(33, 1));
    assert_eq!(kv(&engine), 2 * page);
    let b = engine.fork(a).unwrap();
    assert_eq!(kv(&engine), 2 * page, "a fork shares");
    append(&mut engine, b, &tokens(1, 2));
    assert_eq!(kv(&engine), 3 * page, "a partial page that is written is copied");
    engine.remove(a).unwrap();
    assert_eq!(kv(&engine), 2 * page, "the whole page is the fork's now");
    engine.truncate(b, 32).unwrap();
    assert_eq!(kv(&engine), page);
    engine.remove(b).unwrap();
    assert_eq!(kv(&engine), 0);
}
