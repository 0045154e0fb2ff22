//! What a caller sees of an answer: text, reasons to end, refusals.

use std::ops::ControlFlow;
use std::sync::Arc;

use minfer::{
    Error, Event, FinishReason, GenerateOptions, Generation, Model, Sampling, Session, SessionOptions,
};
use runtime::RuntimeError;

use crate::common::{model, session, session_on, tokens};

const CONTINUE: ControlFlow<()> = ControlFlow::Continue(());

fn small() -> Arc<Model> {
    model("llama", "micro", "Q8_0")
}

fn with_context(n_ctx: usize) -> SessionOptions {
    SessionOptions { n_ctx, ..SessionOptions::default() }
}

fn greedy(n: usize) -> GenerateOptions {
    GenerateOptions { n_predict: Some(n), ..GenerateOptions::default() }
}

fn sampled(n: usize, temperature: f32, seed: u64) -> GenerateOptions {
    let sampling = Sampling { temperature, seed, ..Sampling::default() };
    GenerateOptions { n_predict: Some(n), sampling, ..GenerateOptions::default() }
}

fn generate(session: &mut Session, prompt: &[u32], options: &GenerateOptions) -> Generation {
    session.generate(prompt, options, &mut |_| CONTINUE).unwrap()
}

/// A model whose greedy answers to these prompts do not end by themselves.
fn endless() -> Arc<Model> {
    model("llama", "micro", "F32")
}

/// Samples with one seed after the other until an answer is as wanted.
fn search(session: &mut Session, wanted: impl Fn(&Generation) -> bool) -> Generation {
    let prompt = tokens(20, 1);
    let mut answers = (0..100).map(|seed| generate(session, &prompt, &sampled(60, 5.0, seed)));
    answers.find(wanted).expect("one of a hundred random answers")
}

#[test]
fn greedy_answer_is_the_same_again() {
    let mut session = session(&small(), &with_context(128));
    let prompt = tokens(40, 1);
    let first = generate(&mut session, &prompt, &greedy(40));
    let other = generate(&mut session, &tokens(30, 2), &greedy(40));
    let second = generate(&mut session, &prompt, &greedy(40));
    assert_eq!((&first.tokens, &first.text), (&second.tokens, &second.text));
    assert_ne!(first.tokens, other.tokens);
}

#[test]
fn seed_reproduces_the_answer_whatever_the_batches_and_threads() {
    let (model, prompt) = (small(), tokens(50, 1));
    let expected = generate(&mut session(&model, &with_context(128)), &prompt, &sampled(40, 0.8, 42));
    for n_ubatch in [1, 7, 512] {
        for threads in [1, 2, 3] {
            let options = SessionOptions { n_ubatch, ..with_context(128) };
            let mut session = session_on(threads, &model, &options);
            let found = generate(&mut session, &prompt, &sampled(40, 0.8, 42));
            let what = format!("batches of {n_ubatch} on {threads} threads");
            assert_eq!((&found.tokens, &found.text), (&expected.tokens, &expected.text), "{what}");
            let other = generate(&mut session, &prompt, &sampled(40, 0.8, 43));
            assert_ne!(other.tokens, expected.tokens, "another seed, {what}");
        }
    }
}

#[test]
fn answer_ends_at_the_length_asked_for() {
    let mut session = session(&small(), &with_context(128));
    for n in [0, 1, 5] {
        let answer = generate(&mut session, &tokens(10, 1), &greedy(n));
        assert_eq!((answer.tokens.len(), answer.finish_reason), (n, FinishReason::Length));
    }
}

#[test]
fn answer_ends_where_the_context_does() {
    let mut session = session(&endless(), &with_context(40));
    for (prompt, n_predict) in [(30, None), (30, Some(100)), (39, None), (40, None)] {
        let options = GenerateOptions { n_predict, ..GenerateOptions::default() };
        let answer = generate(&mut session, &tokens(prompt, 1), &options);
        assert_eq!(answer.finish_reason, FinishReason::Context, "prompt of {prompt}");
        // The last token is chosen after the last position, and needs none itself.
        assert_eq!(answer.tokens.len(), 40 - prompt + 1, "prompt of {prompt}");
    }
}

#[test]
fn answer_ends_with_the_token_that_ends_it() {
    let model = small();
    let mut session = session(&model, &with_context(128));
    let answer = search(&mut session, |answer| answer.finish_reason == FinishReason::Stop);
    let (last, before) = answer.tokens.split_last().unwrap();
    assert!(model.tokenizer().is_eog(*last));
    assert!(!before.iter().any(|id| model.tokenizer().is_eog(*id)));
    assert!(!answer.text.contains(model.tokenizer().token_text(*last)));
}

#[test]
fn control_tokens_are_not_printed() {
    let model = small();
    let tokenizer = model.tokenizer();
    let mut session = session(&model, &with_context(128));
    let silent = |id: &u32| tokenizer.is_control(*id) && !tokenizer.is_eog(*id);
    let answer = search(&mut session, |answer| answer.tokens.iter().any(silent));
    assert!(!answer.text.contains("<|"), "{}", answer.text);
    let printed: Vec<u32> = answer.tokens.iter().copied().filter(|id| !tokenizer.is_control(*id)).collect();
    assert_eq!(answer.text, tokenizer.decode(&printed, false));
}

#[test]
fn streamed_pieces_are_the_text() {
    let mut session = session(&small(), &with_context(128));
    for seed in 0..5 {
        let (mut pieces, mut progress, mut finished) = (String::new(), Vec::new(), None);
        let options = sampled(60, 2.0, seed);
        let answer = session.generate(&tokens(20, 1), &options, &mut |event| {
            match event {
                Event::Prompt { done, total } => progress.push((done, total)),
                Event::Token { .. } => {}
                Event::Text(piece) => {
                    assert!(!piece.is_empty());
                    assert_eq!(finished, None, "nothing comes after the end");
                    pieces.push_str(piece);
                }
                Event::Finished(reason) => finished = Some(reason),
            }
            CONTINUE
        });
        let answer = answer.unwrap();
        assert_eq!(pieces, answer.text, "seed {seed}");
        assert_eq!(finished, Some(answer.finish_reason));
        assert_eq!(progress, [(0, 20), (20, 20)]);
    }
}

#[test]
fn prompt_that_does_not_fit_is_refused_with_both_numbers() {
    let mut session = session(&small(), &with_context(40));
    let error = session.generate(&tokens(41, 1), &greedy(1), &mut |_| CONTINUE).unwrap_err();
    assert!(matches!(error, Error::PromptTooLong { prompt: 41, n_ctx: 40 }), "{error:?}");
    let text = error.to_string();
    assert!(text.contains("41") && text.contains("40"), "{text}");
    assert!(matches!(session.score(&tokens(41, 1), 1), Err(Error::PromptTooLong { .. })));
}

#[test]
fn prompt_of_nothing_is_refused_unless_the_model_has_a_token_to_begin_with() {
    let model_without = model("qwen2", "micro", "Q8_0");
    let prompt = model_without.tokenize("", true).unwrap();
    assert!(prompt.is_empty());
    let mut without = session(&model_without, &with_context(40));
    let refused = without.generate(&prompt, &greedy(1), &mut |_| CONTINUE);
    assert!(matches!(refused, Err(Error::EmptyPrompt)));
    assert!(matches!(without.score(&prompt, 1), Err(Error::EmptyPrompt)));

    let prompt = small().tokenize("", true).unwrap();
    assert_eq!(prompt, [small().tokenizer().bos().unwrap()]);
    let answer = generate(&mut session(&small(), &with_context(40)), &prompt, &greedy(3));
    assert_eq!(answer.tokens.len(), 3);
}

#[test]
fn token_outside_the_vocabulary_is_refused_and_the_session_goes_on() {
    let mut session = session(&small(), &with_context(40));
    let expected = generate(&mut session, &tokens(10, 1), &greedy(5)).tokens;
    for id in [320, u32::MAX] {
        let refused = session.generate(&[1, 2, id], &greedy(1), &mut |_| CONTINUE).unwrap_err();
        let found = match &refused {
            Error::Runtime(RuntimeError::TokenOutOfRange { index, id, n_vocab }) => (*index, *id, *n_vocab),
            other => panic!("expected a token out of range, found {other:?}"),
        };
        assert_eq!(found, (2, id, 320));
        assert!(refused.to_string().contains(&id.to_string()), "{refused}");
        assert_eq!(session.memory().kv_bytes_committed, 0);
    }
    assert_eq!(generate(&mut session, &tokens(10, 1), &greedy(5)).tokens, expected);
}

#[test]
fn temperature_that_is_none_is_refused() {
    let mut session = session(&small(), &with_context(40));
    for temperature in [-1.0, f32::NAN, f32::INFINITY] {
        let options = sampled(3, temperature, 1);
        let refused = session.generate(&tokens(5, 1), &options, &mut |_| CONTINUE).unwrap_err();
        assert!(refused.to_string().contains("temperature"), "{refused}");
        assert_eq!(session.memory().kv_bytes_committed, 0);
    }
}

#[test]
fn caller_ends_the_answer_at_any_event() {
    let options = SessionOptions { n_ubatch: 8, ..with_context(128) };
    let mut session = session(&small(), &options);
    let prompt = tokens(20, 1);
    let mut events = 0;
    let whole = session.generate(&prompt, &greedy(10), &mut |_| {
        events += 1;
        CONTINUE
    });
    let whole = whole.unwrap();
    assert_eq!(whole.finish_reason, FinishReason::Length);
    // Three batches and the end of the prompt come before any text.
    assert!(events > 5);
    for end in 0..events {
        let (mut seen, mut streamed) = (0, String::new());
        let cut = session.generate(&prompt, &greedy(10), &mut |event| {
            if let Event::Text(piece) = event {
                streamed.push_str(piece);
            }
            seen += 1;
            if seen > end { ControlFlow::Break(()) } else { CONTINUE }
        });
        let cut = cut.unwrap();
        assert!(whole.tokens.starts_with(&cut.tokens), "ended at event {end}");
        assert!(whole.text.starts_with(&cut.text), "ended at event {end}");
        assert_eq!(cut.text, streamed);
        assert_eq!(cut.tokens.is_empty(), end < 4, "ended at event {end}");
        // Behind the last text only the end itself is told.
        if end + 2 < events {
            assert_eq!(cut.finish_reason, FinishReason::Cancelled, "ended at event {end}");
        }
        assert_eq!(session.memory().kv_bytes_committed, 0);
    }
}

#[test]
fn prompt_of_one_token_is_answered() {
    let mut session = session(&small(), &with_context(64));
    let answer = generate(&mut session, &[70], &greedy(8));
    assert_eq!(answer.tokens.len(), 8);
    let alone = session.score(&[70], 1).unwrap();
    assert_eq!((alone.top[0].0, alone.nll_sum), (answer.tokens[0], 0.0));
}
