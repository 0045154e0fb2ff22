//! Sessions that check their memory answer as others do.

use std::ops::ControlFlow;

use minfer::{Fused, GenerateOptions, SessionOptions};

use crate::common::*;

#[test]
fn sessions_that_verify_their_memory_give_the_same_answers() {
    for (arch, quant) in
        [("llama", "Q4_0"), ("qwen2", "Q8_0"), ("gemma3", "Q8_0"), ("phi3", "Q4_0"), ("qwen3moe", "F16")]
    {
        let model = model(arch, "micro", quant);
        for fusions in [Fused::ALL, Fused::NONE] {
            let answer = |verify_memory| {
                let options = SessionOptions {
                    n_ctx: 64,
                    n_ubatch: 20,
                    fusions,
                    verify_memory,
                    ..SessionOptions::default()
                };
                let mut session = session(&model, &options);
                assert_eq!(session.verified().is_some(), verify_memory);
                let options = GenerateOptions { n_predict: Some(8), ..GenerateOptions::default() };
                let sink = &mut |_: minfer::Event| ControlFlow::Continue(());
                let answer = session.generate(&tokens(30, 1), &options, sink).unwrap();
                (answer.tokens, session.memory().arena_bytes)
            };
            assert_eq!(answer(true), answer(false), "{arch}, {fusions:?}");
        }
    }
}

#[test]
fn what_was_verified_is_told() {
    let model = model("llama", "micro", "Q8_0");
    for (n_ctx, n_ubatch, tokens) in [(128, 512, 64), (20, 512, 20), (128, 8, 9), (1, 1, 1)] {
        let options = SessionOptions { n_ctx, n_ubatch, verify_memory: true, ..SessionOptions::default() };
        let verified = session(&model, &options).verified().unwrap();
        assert_eq!(verified.tokens, tokens);
        assert!(verified.windows > verified.calls / 2 && verified.calls > 20, "{verified:?}");
    }
}
