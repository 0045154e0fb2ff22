//! The types that the cache may be of: what works, how near it is, what is refused before a weight is read.

use std::sync::Arc;

use minfer::{DType, Error, KV_TYPES, Session, SessionOptions, ThreadPool};

use crate::common::{answer, model, session, tokens};

fn pairs() -> impl Iterator<Item = (DType, DType)> {
    KV_TYPES.into_iter().flat_map(|k| KV_TYPES.map(|v| (k, v)))
}

fn of(type_k: DType, type_v: DType) -> SessionOptions {
    SessionOptions { n_ctx: 256, type_k, type_v, ..SessionOptions::default() }
}

/// A step of a type, relative to the largest element of a block; half of one is what an element is off by.
fn step(dtype: DType) -> f32 {
    match dtype {
        DType::F32 => 0.0,
        DType::F16 => 1.0 / 2048.0,
        DType::BF16 => 1.0 / 256.0,
        DType::Q8_0 => 1.0 / 127.0,
        DType::Q4_0 => 1.0 / 8.0,
        other => panic!("no cache is of type {other}"),
    }
}

#[test]
fn every_pair_of_types_answers_and_is_near_f32_by_its_steps() {
    let model = model("llama", "tiny", "F32");
    let prompt = tokens(60, 1);
    let logits = |k, v| answer(&mut session(&model, &of(k, v)), &prompt, 1).logits;
    let exact = logits(DType::F32, DType::F32);
    let size = (exact.iter().map(|x| x * x).sum::<f32>() / exact.len() as f32).sqrt();
    let mut seen = Vec::new();
    for (k, v) in pairs() {
        let found = logits(k, v);
        let square = exact.iter().zip(&found).map(|(e, f)| (e - f) * (e - f)).sum::<f32>();
        let off = (square / exact.len() as f32).sqrt() / size;
        // Layers carry what is off on to the next ones.
        let allowed = 3.0 * (step(k) + step(v));
        assert!(off <= allowed, "{k}, {v}: off by {off} of the logits' size, allowed {allowed}");
        assert!(!seen.contains(&found), "{k}, {v}: the logits of another pair");
        seen.push(found);
    }
}

#[test]
fn blocks_that_heads_do_not_fit_are_refused_with_the_option_the_type_and_the_need() {
    let model = model("llama", "micro", "F32");
    assert_eq!(model.config().head_dim, 16);
    for (k, v) in pairs() {
        let result = Session::new(model.clone(), Arc::new(ThreadPool::new(1)), &of(k, v));
        let expected = [("--kv-type-k", k), ("--kv-type-v", v)].into_iter().find(|(_, t)| t.is_quantized());
        match (result, expected) {
            (Ok(_), None) => {}
            (Err(error), Some((option, kv_type))) => {
                assert!(matches!(error, Error::CacheType { block: 32, head_dim: 16, .. }), "{error:?}");
                let text = error.to_string();
                let words = [option, kv_type.name(), "32", "16"];
                assert!(words.iter().all(|word| text.contains(word)), "{text}");
            }
            (result, expected) => panic!("{k}, {v}: {:?} for {expected:?}", result.err()),
        }
    }
}

#[test]
fn a_type_that_no_cache_is_of_is_refused_with_those_that_there_are() {
    let model = model("llama", "tiny", "F32");
    for other in DType::ALL.into_iter().filter(|t| !KV_TYPES.contains(t)) {
        let result = Session::new(model.clone(), Arc::new(ThreadPool::new(1)), &of(DType::F16, other));
        let text = result.err().expect("no such cache").to_string();
        assert!(text.contains("--kv-type-v") && text.contains(other.name()), "{text}");
        assert!(KV_TYPES.iter().all(|t| text.contains(t.name())), "{text}");
    }
}
