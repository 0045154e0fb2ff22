//! How tokens come in batches changes nothing.

use runtime::{Item, Rows};

use crate::common::*;

#[test]
fn batching_does_not_change_a_bit() {
    let prompt = tokens(200, 1);
    for case in all_cases() {
        let setup = Setup::new(case);
        let file = setup.file();
        let mut engine = setup.engine_with(&file);
        let seq = engine.create();
        let whole = append(&mut engine, seq, &prompt);
        engine.remove(seq).unwrap();
        for chunk in [1, 3, 64] {
            let seq = engine.create();
            let cut: Vec<Vec<f32>> = prompt.chunks(chunk).flat_map(|c| append(&mut engine, seq, c)).collect();
            assert_same_bits(&whole, &cut, &format!("{case:?} in calls of {chunk}"));
            engine.remove(seq).unwrap();

            let mut small = Setup::new(case);
            small.params.n_ubatch = chunk;
            small.params.head_rows = chunk.min(5);
            small.params.n_outputs = chunk.min(10);
            let mut engine = small.engine_with(&file);
            let seq = engine.create();
            let cut = append(&mut engine, seq, &prompt);
            assert_same_bits(&whole, &cut, &format!("{case:?} with room for {chunk}"));
        }
    }
}

#[test]
fn neighbours_do_not_change_a_bit() {
    let (prompt, before, after) = (tokens(70, 1), tokens(33, 2), tokens(50, 3));
    for case in all_cases() {
        let alone = Setup::new(case).logits(&prompt);
        let mut setup = Setup::new(case);
        setup.params.n_seq = 3;
        for n_ubatch in [200, 60] {
            setup.params.n_ubatch = n_ubatch;
            let mut engine = setup.engine();
            let [a, b, c] = [(); 3].map(|()| engine.create());
            // The neighbours are ahead, so that positions and pages differ as well.
            append(&mut engine, a, &before);
            let first = append_many(&mut engine, &[(a, &before[..20]), (b, &prompt[..45]), (c, &after)]);
            let second = append_many(&mut engine, &[(c, &before), (b, &prompt[45..]), (a, &after[..7])]);
            let beside = [&first[1][..], &second[1][..]].concat();
            assert_same_bits(&alone, &beside, &format!("{case:?} in batches of {n_ubatch}"));
        }
    }
}

#[test]
fn rows_that_nobody_asked_for_change_nothing() {
    let prompt = tokens(90, 5);
    let setup = Setup::new(QUICK);
    let all = setup.logits(&prompt);
    let mut engine = setup.engine();
    let seq = engine.create();
    let mut rows = Vec::new();
    let item = |tokens, rows| Item { seq, tokens, rows };
    let items =
        [item(&prompt[..30], Rows::None), item(&prompt[30..70], Rows::Last), item(&prompt[70..], Rows::All)];
    engine.process(&items, &mut |item, token, logits| rows.push((item, token, logits.to_vec()))).unwrap();
    let places: Vec<_> = rows.iter().map(|(item, token, _)| (*item, *token)).collect();
    let expected: Vec<_> = std::iter::once((1, 39)).chain((0..20).map(|t| (2, t))).collect();
    assert_eq!(places, expected);
    let found: Vec<_> = rows.into_iter().map(|(.., logits)| logits).collect();
    assert_same_bits(&all[69..], &found, "the rows asked for");
}
