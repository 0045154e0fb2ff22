//! Many requests at once: each gets what it would get alone, and what the cache has is not computed again.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::mpsc::channel;

use minfer::{
    Engine, EngineOptions, Error, FinishReason, GenerateOptions, Happening, Model, Request, Sampling,
    SessionOptions, Stats, Usage,
};

use crate::common::{model, session, tokens};

fn options(n_ctx: usize, n_seq: usize) -> EngineOptions {
    let session = SessionOptions { n_ctx, n_seq, n_kept: 4, n_ubatch: 64, ..SessionOptions::default() };
    EngineOptions { session, chunk: 32, queue: 64, threads: Some(2) }
}

fn request(prompt: Vec<u32>, n: usize, seed: u64) -> Request {
    let sampling = Sampling { temperature: 2.0, seed, ..Sampling::default() };
    let options = GenerateOptions {
        n_predict: Some(n),
        sampling,
        logprobs: Some(2),
        ignore_eos: true,
        ..GenerateOptions::default()
    };
    Request { prompt, options }
}

/// Tokens, the bits of their logprobs, text, and what it took.
fn collect(happenings: impl Iterator<Item = Happening>) -> (Vec<(u32, u64)>, String, FinishReason, Usage) {
    let (mut tokens, mut text) = (Vec::new(), String::new());
    for happening in happenings {
        match happening {
            Happening::Token { id, logprobs } => {
                tokens.push((id, logprobs.expect("asked for").logprob.to_bits()));
            }
            Happening::Text(piece) => text.push_str(&piece),
            Happening::Finished { reason, usage } => return (tokens, text, reason, usage),
            Happening::Failed(error) => panic!("{error}"),
            Happening::Started { .. } | Happening::Prompt { .. } => {}
        }
    }
    panic!("an answer without an end");
}

fn alone(model: &Arc<Model>, request: &Request) -> Vec<(u32, u64)> {
    alone_in(model, request, 256)
}

fn alone_in(model: &Arc<Model>, request: &Request, n_ctx: usize) -> Vec<(u32, u64)> {
    let mut session = session(model, &SessionOptions { n_ctx, ..SessionOptions::default() });
    let answer =
        session.generate(&request.prompt, &request.options, &mut |_| ControlFlow::Continue(())).unwrap();
    answer.tokens.iter().zip(&answer.logprobs).map(|(id, l)| (*id, l.logprob.to_bits())).collect()
}

#[test]
fn each_of_many_gets_the_bits_that_it_gets_alone() {
    for (arch, quant) in [("llama", "Q8_0"), ("gemma3", "F32")] {
        let model = model(arch, "micro", quant);
        let engine = Engine::new(model.clone(), &options(256, 5)).unwrap();
        // Some begin alike, so that they share what others left.
        let requests: Vec<Request> = (0..20)
            .map(|i| {
                let mut prompt = tokens(30 + 20 * (i % 3), (i % 4) as u32);
                prompt.extend(tokens(1 + i, 100 + i as u32));
                request(prompt, 10 + i, i as u64)
            })
            .collect();
        let answers: Vec<_> = requests.iter().map(|r| engine.generate(r.clone()).unwrap()).collect();
        for (request, answer) in requests.iter().zip(answers) {
            let (tokens, _, reason, usage) = collect(answer);
            assert_eq!(tokens, alone(&model, request), "{arch}");
            assert_eq!(reason, FinishReason::Length);
            assert_eq!((usage.prompt_tokens, usage.completion_tokens), (request.prompt.len(), tokens.len()));
        }
        let Stats { cached_tokens, .. } = engine.stats();
        assert!(cached_tokens > 0, "{arch}: nothing was shared");
    }
}

#[test]
fn what_the_cache_has_is_not_computed_again() {
    for (arch, quant) in [("llama", "Q8_0"), ("gemma3", "F32")] {
        let engine = Engine::new(model(arch, "micro", quant), &options(256, 1)).unwrap();
        let prompt = tokens(100, 1);
        let first = collect(engine.generate(request(prompt.clone(), 20, 1)).unwrap());
        assert_eq!(first.3.cached_tokens, 0);
        // The same again: all but the last token, whose logits are wanted.
        let again = collect(engine.generate(request(prompt.clone(), 20, 1)).unwrap());
        assert_eq!(again.3.cached_tokens, prompt.len() - 1, "{arch}");
        assert_eq!((&again.0, &again.1), (&first.0, &first.1), "{arch}");
        // The next turn: the whole conversation but the answer's last token, which no step has read.
        let mut next = prompt.clone();
        next.extend(first.0.iter().map(|(id, _)| *id));
        let expected = next.len() - 1;
        next.extend(tokens(10, 3));
        let turn = collect(engine.generate(request(next.clone(), 5, 2)).unwrap());
        assert_eq!(turn.3.cached_tokens, expected, "{arch}");
        assert_eq!(turn.0, alone(engine.model(), &request(next, 5, 2)), "{arch}");
    }
}

#[test]
fn whatever_a_text_shares_with_an_earlier_one_its_answer_has_the_bits_of_a_fresh_engine() {
    for (arch, quant) in [("llama", "Q8_0"), ("gemma3", "F32")] {
        let engine = Engine::new(model(arch, "micro", quant), &options(512, 1)).unwrap();
        let prompt = tokens(200, 1);
        let first = collect(engine.generate(request(prompt.clone(), 50, 1)).unwrap());
        let text: Vec<u32> = prompt.iter().copied().chain(first.0.iter().map(|(id, _)| *id)).collect();
        let after = |shared: usize, more: usize| [&text[..shared], &tokens(more, 9)].concat();
        // The prompt, its answer's beginning with another end, a short beginning, and a place before the prompt's end.
        for (shared, more, least) in [(200, 0, 100), (210, 30, 105), (20, 150, 0), (190, 0, 0), (190, 5, 0)] {
            let request = request(after(shared, more), 12, 3);
            let (tokens, _, _, usage) = collect(engine.generate(request.clone()).unwrap());
            assert_eq!(tokens, alone_in(engine.model(), &request, 512), "{arch}: {shared} shared");
            let cached = usage.cached_tokens;
            assert!(cached >= least && cached <= shared, "{arch}: {cached} of {shared} shared");
        }
    }
}

#[test]
fn what_prompts_that_come_together_begin_with_is_computed_once() {
    for (arch, quant) in [("llama", "Q8_0"), ("gemma3", "F32")] {
        let engine = Engine::new(model(arch, "micro", quant), &options(512, 4)).unwrap();
        let prompt = tokens(300, 1);
        let request = |i: u64| request([&prompt[..], &[7 + (i as u32) / 2]].concat(), 3, i);
        let answers: Vec<_> = (0..4).map(|i| engine.generate(request(i)).unwrap()).collect();
        let answers: Vec<_> = answers.into_iter().map(collect).collect();
        let cached: Vec<usize> = answers.iter().map(|answer| answer.3.cached_tokens).collect();
        assert_eq!(cached, [0, 300, 300, 300], "{arch}");
        // The prompt's last token of each, and two of each answer: nobody reads the last.
        assert_eq!(engine.stats().computed_tokens, 300 + 4 * (1 + 2), "{arch}");
        for (i, answer) in answers.iter().enumerate() {
            assert_eq!(answer.0, alone_in(engine.model(), &request(i as u64), 512), "{arch}");
        }
    }
}

#[test]
fn nobody_waits_for_more_than_a_chunk_of_another_prompt_between_two_tokens() {
    let engine = Engine::new(model("llama", "micro", "Q8_0"), &options(1024, 2)).unwrap();
    let (sender, order) = channel();
    let tell = |who: char| {
        let sender = sender.clone();
        Box::new(move |happening: Happening| {
            let step = match happening {
                Happening::Token { .. } => Some((who, 0)),
                Happening::Prompt { done } => Some((who, done)),
                Happening::Finished { .. } => Some((who, usize::MAX)),
                _ => None,
            };
            step.into_iter().for_each(|step| sender.send(step).unwrap());
            ControlFlow::Continue(())
        })
    };
    engine.generate_into(request(tokens(4, 1), 400, 1), tell('a')).unwrap();
    engine.generate_into(request(tokens(900, 2), 1, 2), tell('b')).unwrap();
    let mut seen: Vec<(char, usize)> = Vec::new();
    while seen.iter().filter(|(_, step)| *step == usize::MAX).count() < 2 {
        seen.push(order.recv().unwrap());
    }
    // Once the short one answers, between any two chunks of the long prompt it got a token.
    let begun = seen.iter().position(|step| *step == ('a', 0)).unwrap();
    let chunks: Vec<usize> =
        (begun..seen.len()).filter(|i| seen[*i].0 == 'b' && seen[*i].1 < usize::MAX).collect();
    let prompt_chunks: Vec<usize> = chunks.iter().map(|i| seen[*i].1).filter(|done| *done > 0).collect();
    assert!(prompt_chunks.windows(2).all(|two| two[1] - two[0] <= 32), "{prompt_chunks:?}");
    for two in chunks.windows(2).take(20) {
        assert!(seen[two[0]..two[1]].contains(&('a', 0)), "{seen:?}");
    }
}

#[test]
fn a_cancelled_request_frees_its_place_and_the_others_go_on() {
    let engine = Engine::new(model("llama", "micro", "Q8_0"), &options(512, 1)).unwrap();
    let mut endless = engine.generate(request(tokens(5, 1), 500, 1)).unwrap();
    while !matches!(endless.next().unwrap(), Happening::Token { .. }) {}
    let waiting = engine.generate(request(tokens(5, 2), 500, 2)).unwrap();
    let wanted = request(tokens(6, 3), 10, 3);
    let last = engine.generate(wanted.clone()).unwrap();
    drop(waiting);
    drop(endless);
    assert_eq!(collect(last).0, alone(engine.model(), &wanted));
    engine.forget_kept().unwrap();
    let idle = || {
        let s = engine.stats();
        (s.running, s.waiting, s.kept, s.kv_bytes_committed) == (0, 0, 0, 0)
    };
    let begun = std::time::Instant::now();
    while !idle() {
        assert!(begun.elapsed().as_secs() < 60, "{:?}", engine.stats());
        std::thread::yield_now();
    }
    engine.stop();
    assert!(matches!(engine.generate(request(tokens(5, 1), 1, 1)), Err(Error::EngineStopped)));
}

#[test]
fn an_engine_may_be_dropped_by_a_sink_of_its_own() {
    let engine = Arc::new(Engine::new(model("llama", "micro", "Q8_0"), &options(64, 1)).unwrap());
    let (sender, over) = channel();
    let mut last = Some(engine.clone());
    let sink = Box::new(move |happening: Happening| {
        if matches!(happening, Happening::Finished { .. }) {
            drop(last.take());
            sender.send(()).unwrap();
        }
        ControlFlow::Continue(())
    });
    engine.generate_into(request(tokens(5, 1), 20, 1), sink).unwrap();
    drop(engine);
    over.recv().unwrap();
}

#[test]
fn a_queue_takes_as_many_requests_as_it_may_and_refuses_the_next() {
    let options = EngineOptions { queue: 3, ..options(512, 1) };
    let engine = Engine::new(model("llama", "micro", "Q8_0"), &options).unwrap();
    let mut first = engine.generate(request(tokens(5, 0), 400, 0)).unwrap();
    while !matches!(first.next().unwrap(), Happening::Started { .. }) {}
    let waiting: Vec<_> = (1..4).map(|i| engine.generate(request(tokens(5, i), 1, 1)).unwrap()).collect();
    let refused = engine.generate(request(tokens(5, 9), 1, 1)).err();
    assert!(matches!(refused, Some(Error::QueueFull { waiting: 3 })), "{refused:?}");
    first.cancel().cancel();
    waiting.into_iter().for_each(|answer| assert_eq!(collect(answer).0.len(), 1));
    assert_eq!(engine.stats().waiting, 0);
}

#[test]
fn what_cannot_be_answered_is_refused_before_anything_is_computed() {
    let engine = Engine::new(model("llama", "micro", "Q8_0"), &options(64, 1)).unwrap();
    let refused = |prompt| engine.generate(request(prompt, 1, 1)).err();
    assert!(matches!(refused(vec![]), Some(Error::EmptyPrompt)));
    assert!(matches!(refused(tokens(65, 1)), Some(Error::PromptTooLong { prompt: 65, n_ctx: 64 })));
    assert!(matches!(refused(vec![u32::MAX]), Some(Error::Runtime(_))));
    assert_eq!(engine.stats().computed_tokens, 0);
    assert!(engine.stats().kv_bytes_reserved > 0, "the cache is reserved from the beginning");
    let none = EngineOptions { chunk: 0, ..options(64, 1) };
    assert!(matches!(Engine::new(engine.model().clone(), &none), Err(Error::Zero("the chunk"))));
}

#[test]
fn a_full_context_ends_an_answer_and_says_so() {
    let engine = Engine::new(model("llama", "micro", "Q8_0"), &options(64, 1)).unwrap();
    let (tokens, _, reason, _) = collect(engine.generate(request(tokens(60, 1), 100, 1)).unwrap());
    assert_eq!((tokens.len(), reason), (5, FinishReason::Context));
}

#[test]
fn what_an_engine_kept_serves_the_next_one() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("kept.kv");
    for (arch, quant) in [("llama", "Q8_0"), ("gemma3", "F32")] {
        let model = model(arch, "micro", quant);
        let engine = Engine::new(model.clone(), &options(256, 1)).unwrap();
        assert_eq!(engine.save(&tokens(100, 1), &path).unwrap(), None, "nothing is kept yet");
        let first = collect(engine.generate(request(tokens(100, 1), 20, 1)).unwrap());
        let mut next = tokens(100, 1);
        next.extend(first.0.iter().map(|(id, _)| *id));
        let known = next.len() - 1;
        // Whatever comes behind what is kept.
        let text = [&next[..], &[1, 2, 3]].concat();
        let saved = engine.save(&text, &path).unwrap().unwrap();
        assert_eq!((saved.tokens, saved.bytes), (known, std::fs::metadata(&path).unwrap().len()));
        next.extend(tokens(10, 3));

        let other = Engine::new(model.clone(), &options(200, 2)).unwrap();
        assert_eq!(other.load(&path).unwrap(), next[..known]);
        let turn = collect(other.generate(request(next.clone(), 5, 2)).unwrap());
        assert_eq!((turn.3.cached_tokens, other.stats().computed_tokens), (known, 11 + 4));
        assert_eq!(turn.0, alone(&model, &request(next, 5, 2)), "{arch}");

        // Other kept ones give way to what is loaded.
        let mut small = options(128, 1);
        small.session.n_kept = 1;
        let small = Engine::new(model.clone(), &small).unwrap();
        collect(small.generate(request(tokens(120, 7), 1, 1)).unwrap());
        collect(small.generate(request(tokens(120, 8), 1, 1)).unwrap());
        assert_eq!(small.load(&path).unwrap().len(), known);
        let mut none = options(128, 1);
        none.session.n_kept = 0;
        let none = Engine::new(model, &none).unwrap();
        assert!(matches!(none.load(&path), Err(Error::Zero(_))));
        assert!(matches!(other.load(folder.path()), Err(Error::Saved { .. })));
        other.stop();
        assert!(matches!(other.load(&path), Err(Error::EngineStopped)));
        std::fs::remove_file(&path).unwrap();
    }
}
