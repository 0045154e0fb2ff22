//! Equal arguments give equal bytes: those of the script that made the reference answers.

use std::fmt::Write as _;

use gguf::{ElementType, GgufFile};
use sha2::{Digest, Sha256};
use synthetic::Error;

fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().fold(String::new(), |mut hex, byte| {
        write!(hex, "{byte:02x}").unwrap();
        hex
    })
}

#[test]
fn small_models_are_the_reference_files_byte_for_byte() {
    #[rustfmt::skip] // A table reads best with a line for each row.
    let rows = [
        ("qwen2", "tiny", "F32", 1, "5e5369c2e13a04e0f9f0b7d559a47e2f3b7dd6127c6c41c33c90932f8074ad97"),
        ("qwen2", "tiny", "Q8_0", 1, "2c2b016c13a93d86a2b1b783fa070ac64a8fd81c8be323d92325d3c2fc0025ca"),
        ("qwen2", "tiny", "Q4_0", 1, "60a1c6b2be5108656620e0cf0f15a79c7366fe11d097113a90a67c611be6cc1f"),
        ("qwen2", "micro", "F32", 1, "c18b41fcc630b3b2cc22fe745137218aacd5c79d2c91c5befa422a515f9e6075"),
        ("llama", "tiny", "F32", 1, "7c970f7da08f47002745ecf8ca25854b3619e219a393a2e726712f2c89168725"),
        ("llama", "tiny", "Q8_0", 1, "c09e79ee5189daaf98ea5a7bf17acab69d662905ea36ef032c5e809bc80977cb"),
        ("llama", "tiny", "Q4_0", 1, "fa5b3a0a7165da42c1406678646ce58d1d4e41d0fa22407db93ad754a8bfdc6c"),
        ("llama", "micro", "F32", 1, "8a3c2e514102fdf095ea9658feb564bb4ab3a786705674d17fbf089792ea9540"),
        ("llama", "micro", "F16", 1, "b2129bdb3e7e1497ae9c259c68de719de8684712e2a55486ffbd7f6a223f6f5f"),
        ("llama", "micro", "BF16", 1, "8254e364f143d5f2b9889adb2f0c95c26e5a26df3ea6e1df3841fee96f54086f"),
        ("qwen2", "micro", "Q4_1", 1, "a908d0a57638be5196e348e5c45ed20fd3d2eb18f8237468f3d2b52006b2147a"),
        ("llama", "micro", "Q4_0", 0, "169ba8bfa5e943689f7efad6560e636989d4d060805737a623c5771e3825cf1e"),
        ("llama", "micro", "Q4_0", 1099511627779, "629f11baec21b8ce9bfc6e86ab0049011c6f1fb2e7f172d4e3f15c7c0dcf04f5"),
    ];
    for (arch, preset, quant, seed, expected) in rows {
        let bytes = synthetic::build(arch, preset, quant, seed, None).unwrap();
        assert_eq!(sha256(&bytes), expected, "{arch} {preset} {quant} seed {seed}");
    }
}

#[test]
fn file_is_complete_or_absent_and_equals_the_bytes() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("m.gguf");
    synthetic::write("llama", "micro", "q4_1", 7, None, &path).unwrap();
    let bytes = std::fs::read(&path).unwrap();
    assert_eq!(bytes, synthetic::build("llama", "micro", "Q4_1", 7, None).unwrap());
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
    assert_ne!(bytes, synthetic::build("llama", "micro", "Q4_1", 8, None).unwrap());
}

#[test]
fn number_of_layers_leaves_shared_tensors_as_they_are() {
    let open = |layers| {
        let bytes = synthetic::build("qwen2", "micro", "Q8_0", 1, Some(layers)).unwrap();
        GgufFile::from_bytes(&bytes).unwrap()
    };
    let (one, three) = (open(1), open(3));
    assert_eq!(three.metadata().require_u32("qwen2.block_count").unwrap(), 3);
    let data = |file: &GgufFile, name| file.data(file.tensor(name).unwrap()).to_vec();
    let name = "blk.0.attn_q.weight";
    assert_eq!(data(&one, name), data(&three, name));
    assert!(one.tensor("blk.1.attn_q.weight").is_none());
    assert!(three.tensor("blk.2.attn_q.weight").is_some());
}

#[test]
fn rows_that_fit_no_block_of_256_fall_back() {
    let types = |preset| {
        let bytes = synthetic::build("llama", preset, "Q4_0", 1, None).unwrap();
        let file = GgufFile::from_bytes(&bytes).unwrap();
        file.tensor("output.weight").unwrap().ty
    };
    assert_eq!(types("tiny"), ElementType::Q6_K);
    assert_eq!(types("micro"), ElementType::Q8_0);
}

#[test]
fn made_up_vocabulary_has_the_size_and_the_special_tokens_of_the_model() {
    let bytes = synthetic::build("llama", "tiny", "Q8_0", 1, Some(1)).unwrap();
    let file = GgufFile::from_bytes(&bytes).unwrap();
    let tokens = file.metadata().require_str_array("tokenizer.ggml.tokens").unwrap();
    assert_eq!(tokens.len(), 320);
    let eos = file.metadata().require_u32("tokenizer.ggml.eos_token_id").unwrap();
    assert_eq!(tokens.get(eos as usize), "<|eot_id|>");
}

#[test]
fn unknown_names_are_refused_with_what_there_is() {
    let build = |arch, preset, quant, layers| synthetic::build(arch, preset, quant, 1, layers);
    let error = build("llama", "huge", "F32", None).unwrap_err();
    assert!(matches!(error, Error::Preset { .. }));
    assert!(error.to_string().contains("llama/micro"), "{error}");
    let error = build("llama", "micro", "Q9", None).unwrap_err();
    assert!(matches!(error, Error::Quant { .. }));
    assert!(error.to_string().contains("Q4_0"), "{error}");
    assert!(matches!(build("llama", "micro", "F32", Some(0)), Err(Error::NoLayers)));
}

#[test]
fn folder_that_does_not_exist_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("none/m.gguf");
    let error = synthetic::write("llama", "micro", "F32", 1, None, &path).unwrap_err();
    assert!(matches!(error, Error::Io { .. }));
    assert!(error.to_string().contains("m.gguf"), "{error}");
}
