//! A llama model and the qwen2 model that computes the same.

use std::sync::Arc;

use gguf::GgufFile;
use minfer::{DType, Model, SessionOptions};
use synthetic::{Error, llama_to_qwen2};

use crate::common::{answer, file, session, tokens};

#[test]
fn twin_of_a_llama_has_its_logits() {
    for quant in ["F32", "Q8_0"] {
        let llama = file("llama", "micro", quant);
        let qwen2 = GgufFile::from_bytes(&llama_to_qwen2(&llama).unwrap()).unwrap();
        assert_eq!(qwen2.metadata().require_u32("qwen2.block_count").unwrap(), 2);
        let options = SessionOptions { type_k: DType::F32, type_v: DType::F32, ..SessionOptions::default() };
        let [expected, found] = [llama, qwen2].map(|file| {
            let model = Arc::new(Model::from_file(file).unwrap());
            answer(&mut session(&model, &options), &tokens(50, 1), 1)
        });
        // Sums over a head run in another order, and that is all.
        for (e, f) in expected.logits.iter().zip(&found.logits) {
            assert!((e - f).abs() < 1e-3, "{quant}: {e} became {f}");
        }
    }
}

#[test]
fn models_without_a_twin_are_refused_with_the_reason() {
    let reason = |arch, preset| match llama_to_qwen2(&file(arch, preset, "F32")) {
        Err(Error::NoTwin { reason }) => reason,
        other => panic!("expected a refusal, found {other:?}"),
    };
    assert!(reason("qwen2", "micro").contains("qwen2"));
    assert!(reason("llama", "tiny").contains("rope_freqs.weight"));
}
