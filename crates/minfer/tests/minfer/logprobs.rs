//! How likely the tokens of an answer were.

use std::ops::ControlFlow;

use minfer::{Event, FinishReason, GenerateOptions, Sampling, SessionOptions, TokenLogprobs};

use crate::common::{model, session, tokens};

const CONTINUE: ControlFlow<()> = ControlFlow::Continue(());

#[test]
fn log_probabilities_are_those_of_the_scored_answer_whatever_the_sampler_did() {
    let mut session = session(&model("llama", "micro", "F32"), &SessionOptions::default());
    let prompt = tokens(20, 1);
    for temperature in [0.0, 3.0] {
        let sampling = Sampling { temperature, seed: 4, logit_bias: vec![(7, 2.5)], ..Sampling::default() };
        let options =
            GenerateOptions { n_predict: Some(12), sampling, logprobs: Some(4), ..Default::default() };
        let mut streamed: Vec<TokenLogprobs> = Vec::new();
        let answer = session.generate(&prompt, &options, &mut |event| {
            if let Event::Token { id, logprobs } = event {
                assert_eq!(logprobs.unwrap().id, id);
                streamed.extend(logprobs.cloned());
            }
            CONTINUE
        });
        let answer = answer.unwrap();
        assert_eq!(streamed, answer.logprobs);
        assert_eq!(answer.logprobs.iter().map(|t| t.id).collect::<Vec<_>>(), answer.tokens);
        let nll = |session: &mut minfer::Session, tokens: &[u32]| session.score(tokens, 0).unwrap().nll_sum;
        let all = [&prompt[..], &answer.tokens].concat();
        let scored = nll(&mut session, &all) - nll(&mut session, &prompt);
        let sum: f64 = answer.logprobs.iter().map(|t| t.logprob).sum();
        assert!((scored + sum).abs() < 1e-9 * scored.abs(), "{scored} {sum}");
        for token in &answer.logprobs {
            assert_eq!(token.top.len(), 4);
            assert!(token.top.is_sorted_by(|a, b| a.1 >= b.1), "{token:?}");
            assert!(token.logprob <= token.top[0].1 && token.logprob < 0.0, "{token:?}");
        }
    }
}

#[test]
fn log_probabilities_are_absent_unless_asked_for_and_change_no_answer() {
    let mut session = session(&model("llama", "micro", "F32"), &SessionOptions::default());
    let mut run = |logprobs| {
        let sampling = Sampling { temperature: 1.0, seed: 9, ..Sampling::default() };
        let options = GenerateOptions { n_predict: Some(20), sampling, logprobs, ..Default::default() };
        session.generate(&tokens(10, 2), &options, &mut |_| CONTINUE).unwrap()
    };
    let (plain, none, many) = (run(None), run(Some(0)), run(Some(100_000)));
    assert!(plain.logprobs.is_empty());
    assert_eq!((&none.tokens, &many.tokens), (&plain.tokens, &plain.tokens));
    assert!(none.logprobs.iter().all(|token| token.top.is_empty()));
    assert!(many.logprobs.iter().all(|token| token.top.len() == 320), "all tokens there are");
    let total: f64 = many.logprobs[0].top.iter().map(|(_, logprob)| logprob.exp()).sum();
    assert!((total - 1.0).abs() < 1e-5, "{total}");
}

#[test]
fn an_answer_that_ignores_its_end_goes_on_to_the_length() {
    let model = model("llama", "micro", "Q8_0");
    let mut session = session(&model, &SessionOptions::default());
    let mut run = |seed, ignore_eos| {
        let sampling = Sampling { temperature: 5.0, seed, ..Sampling::default() };
        let options = GenerateOptions { n_predict: Some(60), sampling, ignore_eos, ..Default::default() };
        session.generate(&tokens(20, 1), &options, &mut |_| CONTINUE).unwrap()
    };
    let ends = (0..100).find(|seed| run(*seed, false).finish_reason == FinishReason::Stop);
    let endless = run(ends.expect("one of a hundred random answers"), true);
    assert_eq!((endless.tokens.len(), endless.finish_reason), (60, FinishReason::Length));
    assert!(!endless.tokens.iter().any(|id| model.tokenizer().is_eog(*id)));
}
