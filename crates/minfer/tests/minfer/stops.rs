//! Texts that end an answer, streamed and whole.

use std::ops::ControlFlow;
use std::sync::Arc;

use minfer::{Event, FinishReason, GenerateOptions, Generation, Model, Sampling, Session, SessionOptions};

use crate::common::{model, session, tokens};

const CONTINUE: ControlFlow<()> = ControlFlow::Continue(());

fn small() -> (Arc<Model>, Session) {
    let model = model("llama", "micro", "F32");
    let session = session(&model, &SessionOptions { n_ctx: 160, ..SessionOptions::default() });
    (model, session)
}

/// An answer of some length with this seed, and the pieces in which it came.
fn answer(session: &mut Session, seed: u64, stop: &[&str]) -> (Generation, Vec<String>) {
    let options = GenerateOptions {
        n_predict: Some(60),
        sampling: Sampling { temperature: 1.5, seed, ..Sampling::default() },
        stop: stop.iter().map(|s| (*s).to_owned()).collect(),
        ignore_eos: true,
        ..GenerateOptions::default()
    };
    let mut pieces = Vec::new();
    let generation = session.generate(&tokens(20, 1), &options, &mut |event| {
        if let Event::Text(piece) = event {
            pieces.push(piece.to_owned());
        }
        CONTINUE
    });
    (generation.unwrap(), pieces)
}

/// Texts of `length` characters inside a text, whole ones only.
fn parts(text: &str, length: usize) -> Vec<&str> {
    let starts: Vec<usize> = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
    starts.windows(length + 1).map(|places| &text[places[0]..places[length]]).collect()
}

#[test]
fn an_answer_ends_before_the_first_stop_text_wherever_tokens_meet() {
    let (_, mut session) = small();
    for seed in 0..2 {
        let (whole, _) = answer(&mut session, seed, &[]);
        assert_eq!(whole.finish_reason, FinishReason::Length);
        for stop in parts(&whole.text, 5).into_iter().step_by(7) {
            let (cut, pieces) = answer(&mut session, seed, &[stop]);
            assert_eq!(cut.finish_reason, FinishReason::Stop, "{stop:?}");
            assert_eq!(cut.text, whole.text[..whole.text.find(stop).unwrap()], "{stop:?}");
            assert_eq!(pieces.concat(), cut.text, "streamed and whole, {stop:?}");
            assert!(whole.tokens.starts_with(&cut.tokens), "{stop:?}");
        }
    }
}

#[test]
fn a_stop_text_that_never_comes_loses_and_repeats_nothing() {
    let (_, mut session) = small();
    let (whole, _) = answer(&mut session, 3, &[]);
    // Begins as the answer ends: held back to the last moment.
    let end: String = parts(&whole.text, 4).pop().unwrap().to_owned() + "and more";
    let (same, pieces) = answer(&mut session, 3, &[&end, "never said"]);
    assert_eq!((&same.tokens, &same.text), (&whole.tokens, &whole.text));
    assert_eq!(same.finish_reason, FinishReason::Length);
    assert_eq!(pieces.concat(), whole.text);
    assert!(pieces.iter().all(|piece| !piece.is_empty()));
}

#[test]
fn of_several_stop_texts_the_one_complete_first_counts() {
    let (_, mut session) = small();
    let (whole, _) = answer(&mut session, 5, &[]);
    let all = parts(&whole.text, 4);
    let (early, late) = (all[6], all[all.len() - 6]);
    let (cut, _) = answer(&mut session, 5, &[late, early]);
    let first = whole.text.find(early).unwrap().min(whole.text.find(late).unwrap());
    assert_eq!(cut.text, whole.text[..first]);
}

#[test]
fn stop_texts_in_the_prompt_do_not_count() {
    let (model, mut session) = small();
    let prompt = model.tokenize("stop here and go on", false).unwrap();
    let options =
        GenerateOptions { n_predict: Some(3), stop: vec!["stop here".into()], ..Default::default() };
    let generation = session.generate(&prompt, &options, &mut |_| CONTINUE).unwrap();
    assert_eq!(generation.tokens.len(), 3);
}

#[test]
fn an_empty_stop_text_is_refused_and_the_session_goes_on() {
    let (_, mut session) = small();
    let options =
        GenerateOptions { stop: vec!["a".into(), String::new()], n_predict: Some(1), ..Default::default() };
    let refused = session.generate(&tokens(4, 1), &options, &mut |_| CONTINUE).unwrap_err();
    assert!(refused.to_string().contains("empty"), "{refused}");
    assert_eq!(session.memory().kv_bytes_committed, 0);
    assert_eq!(answer(&mut session, 1, &[]).0.tokens.len(), 60);
}

#[test]
fn an_answer_that_is_ended_while_text_is_held_back_keeps_that_text() {
    let (_, mut session) = small();
    let (whole, _) = answer(&mut session, 7, &[]);
    let stop = format!("{}never said", parts(&whole.text, 3)[0]);
    let options = GenerateOptions {
        n_predict: Some(60),
        sampling: Sampling { temperature: 1.5, seed: 7, ..Sampling::default() },
        stop: vec![stop],
        ignore_eos: true,
        ..Default::default()
    };
    let mut streamed = String::new();
    let cut = session.generate(&tokens(20, 1), &options, &mut |event| match event {
        Event::Token { .. } => ControlFlow::Break(()),
        Event::Text(piece) => {
            streamed.push_str(piece);
            CONTINUE
        }
        Event::Prompt { .. } | Event::Finished(_) => CONTINUE,
    });
    let cut = cut.unwrap();
    assert_eq!((cut.finish_reason, cut.tokens.len()), (FinishReason::Cancelled, 1));
    assert!(!cut.text.is_empty() && whole.text.starts_with(&cut.text), "{:?}", cut.text);
    assert_eq!(streamed, cut.text);
}
