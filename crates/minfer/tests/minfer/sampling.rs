//! Samplers as a caller of `generate` sees them.

use std::ops::ControlFlow;

use minfer::{Error, GenerateOptions, Sampling, Session, SessionOptions};

use crate::common::{model, session, session_on, tokens};

fn generate(session: &mut Session, sampling: &Sampling) -> Vec<u32> {
    let options =
        GenerateOptions { n_predict: Some(40), sampling: sampling.clone(), ..GenerateOptions::default() };
    session.generate(&tokens(30, 1), &options, &mut |_| ControlFlow::Continue(())).unwrap().tokens
}

/// Wild, with some tokens that come again and again.
fn base() -> Sampling {
    let logit_bias = (9..25).map(|id| (id, 8.0)).collect();
    Sampling { temperature: 2.0, seed: 5, logit_bias, ..Sampling::default() }
}

/// Every sampler alone, strong enough to change an answer, and all of them.
fn samplers() -> Vec<(&'static str, Sampling)> {
    let base = base();
    let with = |change: &dyn Fn(&mut Sampling)| {
        let mut sampling = base.clone();
        change(&mut sampling);
        sampling
    };
    vec![
        ("top_k", with(&|s| s.top_k = 5)),
        ("top_p", with(&|s| s.top_p = 0.4)),
        ("min_p", with(&|s| s.min_p = 0.5)),
        ("typical_p", with(&|s| s.typical_p = 0.3)),
        ("repeat_penalty", with(&|s| s.repeat_penalty = 3.0)),
        ("presence_penalty", with(&|s| s.presence_penalty = 5.0)),
        ("frequency_penalty", with(&|s| s.frequency_penalty = 5.0)),
        ("dry", with(&|s| (s.dry_multiplier, s.dry_allowed_length) = (50.0, 1))),
        ("xtc", with(&|s| (s.xtc_probability, s.xtc_threshold) = (1.0, 0.001))),
        ("logit_bias", with(&|s| s.logit_bias = vec![(10, 12.0)])),
        (
            "all",
            Sampling {
                top_k: 100,
                top_p: 0.9,
                min_p: 0.02,
                typical_p: 0.9,
                repeat_penalty: 1.2,
                presence_penalty: 0.5,
                frequency_penalty: 0.5,
                dry_multiplier: 0.8,
                dry_sequence_breakers: vec![vec![3], vec![4, 5]],
                xtc_probability: 0.5,
                xtc_threshold: 0.01,
                logit_bias: vec![(9, 1.0), (10, f32::NEG_INFINITY)],
                ..base.clone()
            },
        ),
    ]
}

#[test]
fn a_seed_reproduces_the_answer_with_every_sampler_and_each_changes_it() {
    let model = model("llama", "micro", "F32");
    let options = SessionOptions { n_ubatch: 7, ..SessionOptions::default() };
    let (mut one, mut other) = (session(&model, &SessionOptions::default()), session_on(1, &model, &options));
    let plain = generate(&mut one, &base());
    for (name, sampling) in samplers() {
        let first = generate(&mut one, &sampling);
        assert_eq!(generate(&mut other, &sampling), first, "{name}");
        assert_eq!(generate(&mut one, &sampling), first, "{name}");
        assert_ne!(first, plain, "{name} does nothing");
        assert_ne!(generate(&mut one, &Sampling { seed: 6, ..sampling }), first, "{name}, another seed");
    }
}

#[test]
fn temperature_zero_takes_the_best_token_whatever_leaves_tokens_out() {
    let mut session = session(&model("llama", "micro", "F32"), &SessionOptions::default());
    let best = generate(&mut session, &Sampling::default());
    let filters =
        Sampling { top_k: 3, top_p: 0.2, min_p: 0.9, typical_p: 0.2, seed: 8, ..Sampling::default() };
    assert_eq!(generate(&mut session, &filters), best);
}

#[test]
fn a_bias_on_a_token_that_the_model_lacks_is_refused_before_the_prompt_is_read() {
    let mut session = session(&model("llama", "micro", "F32"), &SessionOptions::default());
    let sampling = Sampling { logit_bias: vec![(1, 1.0), (320, 1.0)], ..Sampling::default() };
    let options = GenerateOptions { sampling, ..GenerateOptions::default() };
    let refused = session.generate(&tokens(5, 1), &options, &mut |_| panic!("the prompt is read"));
    let refused = refused.unwrap_err();
    assert!(matches!(refused, Error::Sample { position: 0, .. }), "{refused:?}");
    assert!(refused.to_string().contains("320"), "{refused}");
}

#[test]
fn sequence_breakers_are_all_ways_to_write_their_texts() {
    let model = model("llama", "micro", "F32");
    let tokenizer = model.tokenizer();
    let texts = ["\n", "the", ": "];
    let breakers = model.sequence_breakers(&texts).unwrap();
    assert!(breakers.iter().all(|breaker| !breaker.is_empty()));
    for text in texts {
        assert!(breakers.contains(&model.tokenize(text, false).unwrap()), "{text:?}");
    }
    for breaker in &breakers {
        let written = tokenizer.decode_bytes(breaker, true);
        let holds = |text: &str| written.windows(text.len()).any(|part| part == text.as_bytes());
        assert!(texts.iter().any(|text| holds(text)), "{breaker:?}");
    }
    for id in 0..tokenizer.n_vocab() as u32 {
        let holds_all = |text: &&str| tokenizer.piece(id).windows(text.len()).any(|p| p == text.as_bytes());
        assert_eq!(breakers.contains(&vec![id]), texts.iter().any(holds_all), "token {id}");
    }
    assert!(model.sequence_breakers(&["", ""]).unwrap().is_empty());
}
