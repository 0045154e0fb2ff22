//! What is planned from the header is what a session takes, and limits hold.

use std::sync::Arc;

use minfer::{
    DType, Error, Freedom, Item, KV_TYPES, MemoryLimit, Model, Rows, Session, SessionOptions, ThreadPool,
};

use crate::common::{model, tokens};

const MODELS: [(&str, &str, &str); 6] = [
    ("llama", "tiny", "Q4_0"),
    ("qwen2", "tiny", "Q8_0"),
    ("gemma3", "tiny", "F32"),
    ("qwen3moe", "tiny", "Q8_0"),
    ("gemma2", "micro", "F32"),
    ("phi3", "micro", "F32"),
];

fn models() -> Vec<Arc<Model>> {
    MODELS.iter().map(|(arch, preset, quant)| model(arch, preset, quant)).collect()
}

fn open(model: &Arc<Model>, threads: usize, options: &SessionOptions) -> Result<Session, Error> {
    Session::new(model.clone(), Arc::new(ThreadPool::new(threads)), options)
}

/// A generator of small numbers; each call another one below `n`.
fn numbers(mut state: u64) -> impl FnMut(usize) -> usize {
    move |n| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((state >> 33) as usize) % n
    }
}

fn random_options(next: &mut impl FnMut(usize) -> usize) -> SessionOptions {
    let ubatches = [1, 3, 16, 64, 200, 512];
    SessionOptions {
        n_ctx: 1 + next(700),
        n_seq: 1 + next(3),
        n_ubatch: ubatches[next(ubatches.len())],
        type_k: KV_TYPES[next(KV_TYPES.len())],
        type_v: KV_TYPES[next(KV_TYPES.len())],
        ..SessionOptions::default()
    }
}

#[test]
fn the_plan_is_what_a_session_takes_to_the_byte() {
    let mut next = numbers(1);
    for model in models() {
        for _ in 0..6 {
            let options = random_options(&mut next);
            let threads = 1 + next(3);
            let used = 1 + next(options.n_ctx);
            let plan = match model.plan(&options, threads, Some(used)) {
                Err(Error::CacheType { .. }) => continue,
                plan => plan.unwrap(),
            };
            let mut session = open(&model, threads, &options).unwrap();
            let engine = session.engine();
            for _ in 0..options.n_seq {
                let seq = engine.create();
                let prompt = tokens(used, 3);
                engine
                    .process(&[Item { seq, tokens: &prompt, rows: Rows::Last }], &mut |_, _, _| {})
                    .unwrap();
            }
            let held = session.memory();
            let what = format!("{}: {options:?}, {used} positions", model.config().arch.name);
            assert_eq!(plan.arena_bytes(), held.arena_bytes, "{what}");
            assert_eq!(plan.kv_reserved, held.kv_bytes_reserved, "{what}");
            match &model.config().window {
                None => assert_eq!(plan.kv_committed, held.kv_bytes_committed, "{what}"),
                // Windows have given pages back by now; at the fullest moment they were there.
                Some(_) => assert!(plan.kv_committed >= held.kv_bytes_committed, "{what}"),
            }
        }
    }
}

#[test]
fn more_context_a_larger_batch_or_a_wider_cache_never_takes_less() {
    let mut next = numbers(2);
    for model in models() {
        for _ in 0..12 {
            let small = random_options(&mut next);
            let mut large = small;
            match next(4) {
                0 => large.n_ctx += 1 + next(3000),
                1 => large.n_ubatch += 1 + next(300),
                2 => large.n_seq += 1 + next(3),
                _ => large.type_k = DType::F32,
            }
            let total = |options| match model.plan(options, 2, None) {
                Err(Error::CacheType { .. }) => None,
                plan => Some(plan.unwrap().total()),
            };
            if let (Some(less), Some(more)) = (total(&small), total(&large)) {
                assert!(less <= more, "{small:?} takes {less}, {large:?} {more}");
            }
        }
    }
}

#[test]
fn what_does_not_hold_is_refused_with_settings_that_do() {
    let mut next = numbers(3);
    let (mut refused, mut opened, mut hopeless) = (0, 0, 0);
    for model in models() {
        let least = {
            let smallest = SessionOptions {
                n_ctx: 1,
                n_ubatch: 32,
                type_k: DType::Q4_0,
                type_v: DType::Q4_0,
                ..Default::default()
            };
            model.plan(&smallest, 2, None).unwrap_or_else(|_| {
                model.plan(&SessionOptions { n_ctx: 1, n_ubatch: 32, ..Default::default() }, 2, None).unwrap()
            })
        };
        for _ in 0..12 {
            let asked = SessionOptions { n_seq: 1, ..random_options(&mut next) };
            let with_mapped = next(2) == 1;
            let floor = MemoryLimit { bytes: 0, with_mapped }.counted(&least);
            let limit = MemoryLimit { bytes: floor - floor / 8 + next(1 << 21) as u64, with_mapped };
            let options = SessionOptions { memory: Some(limit), ..asked };
            match open(&model, 2, &options) {
                Ok(_) => {
                    let plan = model.plan(&options, 2, None).unwrap();
                    assert!(limit.counted(&plan) <= limit.bytes);
                    opened += 1;
                }
                Err(Error::OverLimit(over)) => {
                    assert!(limit.counted(&over.plan) > limit.bytes);
                    for proposal in &over.would_fit {
                        assert!(limit.counted(&proposal.plan) <= limit.bytes, "{proposal}");
                        assert!(!proposal.changes.is_empty());
                        open(&model, 2, &proposal.options).unwrap();
                    }
                    let said = over.to_string();
                    assert!(said.contains("KV cache") && said.contains("arenas"), "{said}");
                    refused += usize::from(!over.would_fit.is_empty());
                    hopeless += usize::from(over.would_fit.is_empty());
                }
                Err(Error::CacheType { .. }) => {}
                Err(other) => panic!("{other}"),
            }
        }
    }
    assert!(
        refused > 5 && opened > 5 && hopeless > 0,
        "{refused} refused, {opened} opened, {hopeless} hopeless"
    );
}

#[test]
fn the_longest_context_that_is_proposed_is_the_longest_that_fits() {
    let model = model("llama", "tiny", "Q4_0");
    let asked = SessionOptions { n_ctx: 4000, ..SessionOptions::default() };
    let limit =
        MemoryLimit { bytes: model.plan(&asked, 2, None).unwrap().total() - 100_000, with_mapped: false };
    let freedom = Freedom { ubatch: false, ctx_from: Some(1), kv_type: false };
    let found = model.would_fit(&asked, 2, limit, &freedom).unwrap();
    let [proposal] = &found[..] else { panic!("{found:?}") };
    let n_ctx = proposal.options.n_ctx;
    assert!(n_ctx < 4000);
    let longer = SessionOptions { n_ctx: n_ctx + 32, ..asked };
    assert!(!limit.holds(&model.plan(&longer, 2, None).unwrap()));
    let never_below = Freedom { ctx_from: Some(n_ctx + 33), ..freedom };
    assert!(model.would_fit(&asked, 2, limit, &never_below).unwrap().is_empty());
}

#[test]
fn fitting_changes_nothing_that_holds_and_only_what_it_may() {
    let model = model("qwen2", "tiny", "Q8_0");
    let asked = SessionOptions { n_ctx: 3000, n_ubatch: 512, ..SessionOptions::default() };
    let total = model.plan(&asked, 2, None).unwrap().total();
    let within = |bytes| MemoryLimit { bytes, with_mapped: false };
    let same = model.fit(&asked, 2, within(total), &Freedom::ALL).unwrap().unwrap();
    assert!(same.changes.is_empty());
    let batch_only = Freedom { ubatch: true, ctx_from: None, kv_type: false };
    let smaller = model.fit(&asked, 2, within(total - 1), &batch_only).unwrap().unwrap();
    assert_eq!((smaller.options.n_ctx, smaller.options.type_k), (3000, DType::F16));
    assert!(smaller.options.n_ubatch < 512);
    let narrow = Freedom { ubatch: false, ctx_from: None, kv_type: true };
    let narrower = model.fit(&asked, 2, within(total - 1), &narrow).unwrap().unwrap();
    assert_eq!((narrower.options.n_ctx, narrower.options.n_ubatch), (3000, 512));
    assert_eq!(narrower.options.type_k, DType::Q8_0);
    assert!(model.fit(&asked, 2, within(1000), &Freedom::ALL).unwrap().is_none());
}

#[test]
fn the_picture_has_every_value_once_and_the_plan_that_is_used() {
    for model in models() {
        let options = SessionOptions { n_ctx: 256, n_ubatch: 64, ..SessionOptions::default() };
        let picture = model.plan_picture(&options, 2, None, None).unwrap();
        let plan = model.plan(&options, 2, None).unwrap();
        let used = &picture.strategies[picture.shown];
        assert_eq!(used.name, "packed");
        assert!(used.spaces[0].bytes <= plan.arena_bytes());
        assert_eq!(used.spaces[0].live.iter().max(), Some(&used.spaces[0].lower_bound));
        for (v, value) in picture.values.iter().enumerate() {
            assert!(value.last < picture.steps.len(), "{}", value.name);
            assert!(used.offsets[v].is_none() || value.first <= value.last, "{}", value.name);
        }
        assert!(picture.values.iter().any(|value| value.in_place_of.is_some()));
        let reserved: u64 = picture.regions.iter().map(|r| r.bytes_reserved).sum();
        assert_eq!(reserved, plan.kv_reserved);
        let terms: u64 = picture.budget.terms.iter().map(|t| t.bytes).sum();
        assert_eq!(terms, plan.total());
        assert!(minfer::picture::html(&picture).len() < 1_000_000);
    }
}
