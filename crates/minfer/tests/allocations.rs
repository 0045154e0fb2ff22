//! Decoding asks the allocator for nothing, once the first tokens have made room.
#![allow(unsafe_code)] // An allocator is unsafe by nature.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use gguf::GgufFile;
use minfer::{
    Event, GenerateOptions, Item, Model, Rows, Sampler, Sampling, Session, SessionOptions, StopMatcher,
    StreamDecoder, ThreadPool,
};

/// Counts what threads that decode ask for. A block that grows is asked for anew.
struct Counting;

static ASKED: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    /// Whether this thread decodes. The one that waits for the test allocates when the system lets it run.
    static DECODES: Cell<bool> = const { Cell::new(false) };
}

// SAFETY: every call goes to the system's allocator as it is; the count changes nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ASKED.fetch_add(DECODES.get().into(), Relaxed);
        // SAFETY: the caller keeps the contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps the contract.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Tokens of an answer: pages of the cache begin among them, and windows let go of some.
const TOKENS: usize = 120;
/// The first tokens may allocate.
const FIRST: usize = 2;

// One test: what others ask for meanwhile would be counted too.
#[test]
fn from_the_third_token_on_a_token_allocates_nothing() {
    // Windows in gemma3, experts in qwen3moe, biases in qwen2.
    for (arch, quant) in [("llama", "Q4_K_M"), ("qwen2", "Q8_0"), ("gemma3", "Q4_0"), ("qwen3moe", "Q6_K")] {
        let bytes = synthetic::build(arch, "tiny", quant, 1, None).unwrap();
        let model = Arc::new(Model::from_file(GgufFile::from_bytes(&bytes).unwrap()).unwrap());
        for sampling in [Sampling { temperature: 0.0, ..Sampling::default() }, every_step()] {
            step_by_step(&model, &sampling, arch);
            generated(&model, &sampling, arch);
        }
    }
}

/// Settings that take every step of the sampler.
fn every_step() -> Sampling {
    Sampling {
        temperature: 0.9,
        top_k: 200,
        top_p: 0.95,
        typical_p: 0.97,
        min_p: 0.001,
        repeat_penalty: 1.1,
        frequency_penalty: 0.1,
        xtc_probability: 0.5,
        seed: 3,
        ..Sampling::default()
    }
}

fn session(model: &Arc<Model>, n_seq: usize) -> Session {
    let options = SessionOptions { n_ctx: 256, n_seq, n_ubatch: 32, ..SessionOptions::default() };
    Session::new(model.clone(), Arc::new(started_pool()), &options).unwrap()
}

/// Two threads that are through with what they allocate while they start, and decode from now on.
fn started_pool() -> ThreadPool {
    let pool = ThreadPool::new(2);
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(2);
    let arrived = AtomicUsize::new(0);
    pool.run(threads, &|_, _| {
        arrived.fetch_add(1, Relaxed);
        while arrived.load(Relaxed) < threads {
            std::thread::yield_now();
        }
        DECODES.set(true);
    });
    pool
}

/// Two sequences side by side, with the parts that an answer is made of.
fn step_by_step(model: &Arc<Model>, sampling: &Sampling, arch: &str) {
    let mut session = session(model, 2);
    let engine = session.engine();
    let seqs = [engine.create(), engine.create()];
    let mut samplers = seqs.map(|_| Sampler::new(sampling.clone()).unwrap());
    let mut decoders = seqs.map(|_| StreamDecoder::new());
    let mut stops = seqs.map(|_| StopMatcher::new(&["no such text"]).unwrap());
    let mut histories = seqs.map(|_| Vec::with_capacity(TOKENS));
    let mut next = [1, 2];
    for position in 0..TOKENS {
        let before = ASKED.load(Relaxed);
        let items = [0, 1].map(|i| Item { seq: seqs[i], tokens: &next[i..i + 1], rows: Rows::Last });
        let mut chosen = [0; 2];
        engine
            .process(&items, &mut |i, _, logits| {
                chosen[i] = samplers[i].sample(logits, &histories[i], position as u64).unwrap();
            })
            .unwrap();
        for i in 0..2 {
            let piece = decoders[i].push(model.tokenizer().piece(chosen[i]));
            assert!(!stops[i].push(piece).1);
            histories[i].push(chosen[i]);
        }
        next = chosen;
        let asked = ASKED.load(Relaxed) - before;
        assert!(position < FIRST || asked == 0, "{arch}: token {position} made {asked} allocations");
    }
}

/// The library's own loop. Only the text of the answer, whose length nobody knows, grows on the way: each time to twice
/// its room.
fn generated(model: &Arc<Model>, sampling: &Sampling, arch: &str) {
    let mut session = session(model, 1);
    let options = GenerateOptions {
        n_predict: Some(TOKENS),
        sampling: sampling.clone(),
        ignore_eos: true,
        ..GenerateOptions::default()
    };
    let (mut asked, mut text, mut texts) = ([0; TOKENS], 0, [0; TOKENS]);
    let mut tokens = 0;
    let mut sink = |event: Event| {
        match event {
            Event::Token { .. } => {
                (asked[tokens], texts[tokens]) = (ASKED.load(Relaxed), text);
                tokens += 1;
            }
            Event::Text(piece) => text += piece.len(),
            Event::Prompt { .. } | Event::Finished(_) => {}
        }
        ControlFlow::Continue(())
    };
    session.generate(&[1, 2, 3], &options, &mut sink).unwrap();
    assert_eq!(tokens, TOKENS);
    let mut growths = 0;
    for token in FIRST..TOKENS - 1 {
        let asked = asked[token + 1] - asked[token];
        let grows = texts[token + 1] > texts[token];
        assert!(asked <= usize::from(grows), "{arch}: token {token} made {asked} allocations");
        growths += asked;
    }
    let doublings = text.max(1).ilog2() as usize;
    assert!(growths <= doublings, "{arch}: {growths} allocations for {text} bytes of text");
}
