//! Fusions, threads and instruction sets change nothing.

use backend::Fused;
use cpu::Isa;

use crate::common::*;

#[test]
fn fused_equals_unfused() {
    let prompt = tokens(40, 1);
    for case in all_cases() {
        let mut setup = Setup::new(case);
        setup.params.n_ubatch = 33;
        let file = setup.file();
        let mut engine = setup.engine_with(&file);
        let seq = engine.create();
        let expected = append(&mut engine, seq, &prompt);
        engine.remove(seq).unwrap();
        for fusions in fusion_switches() {
            engine.rebuild(runtime::Params { fusions, ..setup.params }).unwrap();
            let seq = engine.create();
            let found = append(&mut engine, seq, &prompt);
            assert_same_bits(&expected, &found, &format!("{case:?} with {fusions:?}"));
            engine.remove(seq).unwrap();
        }
    }
}

/// Fused products keep those of some tokens at a time: here of two parts.
#[test]
fn fused_equals_unfused_in_a_long_batch() {
    let prompt = tokens(150, 1);
    for case in all_cases() {
        let mut setup = Setup::new(case);
        assert!(setup.params.n_ubatch >= prompt.len());
        setup.params.fusions = Fused::NONE;
        let expected = setup.logits(&prompt);
        setup.params.fusions = Fused::ALL;
        assert_same_bits(&expected, &setup.logits(&prompt), &format!("{case:?}"));
    }
}

#[test]
fn threads_do_not_change_a_bit() {
    let prompt = tokens(70, 1);
    for case in all_cases() {
        let mut setup = Setup::new(case);
        setup.threads = 1;
        let expected = setup.logits(&prompt);
        for threads in [2, 3, 7] {
            setup.threads = threads;
            assert_same_bits(&expected, &setup.logits(&prompt), &format!("{case:?} on {threads} threads"));
        }
    }
}

#[test]
fn every_tier_equals_scalar() {
    let prompt = tokens(40, 1);
    for case in all_cases() {
        let mut setup = Setup::new(case);
        setup.isa = Isa::Scalar;
        let expected = setup.logits(&prompt);
        for isa in Isa::ALL {
            if let Err(reason) = isa.is_available() {
                eprintln!("skipped {isa}: {reason}");
                continue;
            }
            setup.isa = isa;
            assert_same_bits(&expected, &setup.logits(&prompt), &format!("{case:?}, {isa}"));
        }
    }
}
