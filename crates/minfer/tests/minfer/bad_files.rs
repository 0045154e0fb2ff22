//! Files that open and cannot be run: the error names what is wrong, and nothing panics.

use gguf::{ElementType, GgufFile, StrArray, Value, Writer};
use minfer::{Error, Model};

const EMBD: u64 = 64;
const FF: u64 = 128;
const MERGES: [&str; 3] = ["a b", "c d", "ab cd"];

/// Keys of a whole small model: one layer, two heads of 32, one KV head, bytes as tokens.
fn keys() -> Vec<(&'static str, Value)> {
    let tokens = tokens();
    let mut types = vec![1i32; tokens.len()];
    types[256 + MERGES.len()] = 3;
    let count = tokens.len() as u32;
    vec![
        ("general.architecture", "llama".into()),
        ("llama.context_length", 128u32.into()),
        ("llama.embedding_length", (EMBD as u32).into()),
        ("llama.block_count", 1u32.into()),
        ("llama.feed_forward_length", (FF as u32).into()),
        ("llama.attention.head_count", 2u32.into()),
        ("llama.attention.head_count_kv", 1u32.into()),
        ("llama.attention.layer_norm_rms_epsilon", 1e-5f32.into()),
        ("llama.rope.dimension_count", 32u32.into()),
        ("llama.rope.freq_base", 10000f32.into()),
        ("llama.vocab_size", count.into()),
        ("tokenizer.ggml.model", "gpt2".into()),
        ("tokenizer.ggml.pre", "gpt-2".into()),
        ("tokenizer.ggml.tokens", tokens.into()),
        ("tokenizer.ggml.token_type", types.into()),
        ("tokenizer.ggml.merges", MERGES.iter().collect::<StrArray>().into()),
        ("tokenizer.ggml.eos_token_id", (count - 1).into()),
    ]
}

/// The 256 bytes as byte-level vocabularies spell them, the merged texts and one that ends a text.
fn tokens() -> StrArray {
    let printable = |b: u8| matches!(b, 33..=126 | 161..=172 | 174..=255);
    let mut spare = 256..;
    let mut spell = |b: u8| if printable(b) { u32::from(b) } else { spare.next().expect("endless") };
    let bytes = (0..=255).map(|b| char::from_u32(spell(b)).expect("a character").to_string());
    let merged = MERGES.iter().map(|merge| merge.replace(' ', ""));
    bytes.chain(merged).chain(["<|end|>".to_owned()]).collect()
}

fn tensors() -> Vec<(&'static str, Vec<u64>)> {
    let vocab = tokens().len() as u64;
    vec![
        ("token_embd.weight", vec![EMBD, vocab]),
        ("output_norm.weight", vec![EMBD]),
        ("output.weight", vec![EMBD, vocab]),
        ("blk.0.attn_norm.weight", vec![EMBD]),
        ("blk.0.attn_q.weight", vec![EMBD, EMBD]),
        ("blk.0.attn_k.weight", vec![EMBD, 32]),
        ("blk.0.attn_v.weight", vec![EMBD, 32]),
        ("blk.0.attn_output.weight", vec![EMBD, EMBD]),
        ("blk.0.ffn_norm.weight", vec![EMBD]),
        ("blk.0.ffn_gate.weight", vec![EMBD, FF]),
        ("blk.0.ffn_up.weight", vec![EMBD, FF]),
        ("blk.0.ffn_down.weight", vec![FF, EMBD]),
    ]
}

fn write(keys: &[(&str, Value)], tensors: &[(&str, Vec<u64>)], ty: ElementType) -> Vec<u8> {
    let mut w = Writer::new();
    for (key, value) in keys {
        w.key(*key, value.clone()).unwrap();
    }
    for (name, dims) in tensors {
        w.tensor(*name, dims, ty).unwrap();
    }
    w.to_vec(|info| vec![0; info.bytes as usize]).unwrap()
}

fn load(bytes: &[u8]) -> Result<Model, Error> {
    Model::from_file(GgufFile::from_bytes(bytes).unwrap())
}

/// The whole model with another value of a key, or without the key.
fn with_key(key: &str, value: Option<Value>) -> Vec<u8> {
    let mut keys = keys();
    let index = keys.iter().position(|(k, _)| *k == key).expect("a key of the whole model");
    match value {
        Some(value) => keys[index].1 = value,
        None => {
            keys.remove(index);
        }
    }
    write(&keys, &tensors(), ElementType::F32)
}

/// The text of the refusal, which must have these parts.
#[track_caller]
fn refused(bytes: &[u8], parts: &[&str], what: &str) {
    let Err(error) = load(bytes) else { panic!("{what}: the model was loaded") };
    let text = error.to_string();
    for part in parts {
        assert!(text.contains(part), "{what}: no {part:?} in {text:?}");
    }
}

#[test]
fn whole_model_is_loaded() {
    let bytes = write(&keys(), &tensors(), ElementType::F32);
    let model = load(&bytes).unwrap();
    assert_eq!((model.config().n_layer, model.config().head_dim), (1, 32));
    assert_eq!(model.tokenize("abcd", true).unwrap(), [258]);
}

#[test]
fn impossible_values_are_refused_by_key_value_and_what_is_allowed() {
    let no_tokens: StrArray = StrArray::new();
    #[rustfmt::skip] // A table reads best with a line for each row.
    let cases: Vec<(&str, Value, &[&str])> = vec![
        ("general.architecture", 7u32.into(), &["general.architecture", "u32", "string"]),
        ("general.architecture", "nope".into(), &["general.architecture", "nope", "llama"]),
        ("llama.attention.head_count", 0u32.into(), &["llama.attention.head_count", "0", "at least 1"]),
        ("llama.attention.head_count", 3u32.into(), &["llama.attention.head_count", "3", "64"]),
        ("llama.attention.head_count", "2".into(), &["llama.attention.head_count", "string"]),
        ("llama.attention.head_count", (-2i32).into(), &["llama.attention.head_count", "-2"]),
        ("llama.attention.head_count_kv", 0u32.into(), &["llama.attention.head_count_kv", "0", "at least 1"]),
        ("llama.attention.head_count_kv", 4u32.into(), &["llama.attention.head_count_kv", "4", "2"]),
        ("llama.embedding_length", 0u32.into(), &["llama.embedding_length", "0", "at least 1"]),
        ("llama.feed_forward_length", 0u32.into(), &["llama.feed_forward_length", "0", "at least 1"]),
        ("llama.block_count", 0u32.into(), &["llama.block_count", "0", "at least 1"]),
        ("llama.block_count", u32::MAX.into(), &["llama.block_count", "4294967295", "12"]),
        ("llama.context_length", 0u32.into(), &["llama.context_length", "0", "at least 1"]),
        ("llama.attention.layer_norm_rms_epsilon", f32::NAN.into(), &["layer_norm_rms_epsilon", "NaN"]),
        ("llama.attention.layer_norm_rms_epsilon", (-1f32).into(), &["layer_norm_rms_epsilon", "-1"]),
        ("llama.rope.freq_base", 0f32.into(), &["llama.rope.freq_base", "0"]),
        ("llama.rope.freq_base", f32::INFINITY.into(), &["llama.rope.freq_base", "inf"]),
        ("llama.rope.dimension_count", 66u32.into(), &["llama.rope.dimension_count", "66", "32"]),
        ("llama.rope.dimension_count", 31u32.into(), &["llama.rope.dimension_count", "31", "even"]),
        ("tokenizer.ggml.tokens", no_tokens.into(), &["tokenizer.ggml.tokens", "empty"]),
        ("tokenizer.ggml.tokens", 5u32.into(), &["tokenizer.ggml.tokens", "u32"]),
        ("tokenizer.ggml.token_type", vec![1i32; 3].into(), &["tokenizer.ggml.token_type", "3", "260"]),
        ("tokenizer.ggml.model", "rwkv".into(), &["tokenizer.ggml.model", "rwkv", "gpt2"]),
        ("tokenizer.ggml.pre", "nope".into(), &["tokenizer.ggml.pre", "nope"]),
        ("tokenizer.ggml.eos_token_id", 260u32.into(), &["eos_token_id", "260"]),
        ("tokenizer.ggml.merges", ["a bc"].iter().collect::<StrArray>().into(), &["merge 0", "a bc"]),
    ];
    for (key, value, parts) in cases {
        let what = format!("{key} is {}", value.describe());
        refused(&with_key(key, Some(value)), parts, &what);
    }
}

#[test]
fn missing_keys_are_named() {
    for key in [
        "general.architecture",
        "llama.context_length",
        "llama.embedding_length",
        "llama.block_count",
        "llama.feed_forward_length",
        "llama.attention.head_count",
        "llama.attention.layer_norm_rms_epsilon",
        "tokenizer.ggml.model",
        "tokenizer.ggml.pre",
        "tokenizer.ggml.tokens",
    ] {
        refused(&with_key(key, None), &[key], &format!("without {key}"));
    }
    let nothing = write(&[], &[], ElementType::F32);
    refused(&nothing, &["general.architecture"], "nothing at all");
    let architecture = write(&[("general.architecture", "llama".into())], &[], ElementType::F32);
    refused(&architecture, &["llama.block_count"], "an architecture and nothing else");
}

#[test]
fn tensors_that_are_missing_or_have_another_shape_or_type_are_named() {
    for (index, (name, dims)) in tensors().into_iter().enumerate() {
        let mut fewer = tensors();
        fewer.remove(index);
        // Without an output matrix of its own a model uses the embedding's.
        if name != "output.weight" {
            refused(
                &write(&keys(), &fewer, ElementType::F32),
                &[name, "missing"],
                &format!("without {name}"),
            );
        }
        let mut other = tensors();
        other[index].1 = [&dims[..dims.len() - 1], &[dims[dims.len() - 1] - 1]].concat();
        let what = format!("{name} with one row less");
        // With fewer rows than tokens it is the table that has the wrong shape.
        refused(&write(&keys(), &other, ElementType::F32), &[name, "shape"], &what);
    }
    let integers = write(&keys(), &tensors(), ElementType::I32);
    refused(&integers, &["token_embd.weight", "I32", "Q4_0"], "integers as weights");
}

#[test]
fn file_that_cannot_be_run_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("broken.gguf");
    std::fs::write(&path, with_key("llama.attention.head_count", Some(0u32.into()))).unwrap();
    let refused = |path| match Model::load(path) {
        Ok(_) => panic!("the model was loaded"),
        Err(error) => error.to_string(),
    };
    assert!(refused(&path).contains("broken.gguf"));
    std::fs::write(&path, with_key("tokenizer.ggml.model", None)).unwrap();
    assert!(refused(&path).contains("broken.gguf"));
    let absent = dir.path().join("absent.gguf");
    assert!(refused(&absent).contains("absent.gguf"));
}

#[test]
fn file_that_cannot_be_run_is_still_described_with_the_reason() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("broken.gguf");
    std::fs::write(&path, with_key("llama.block_count", Some(0u32.into()))).unwrap();
    let found = minfer::inspect(&path).unwrap();
    assert_eq!(found["architecture"], "llama");
    assert_eq!(found["runs"], false);
    assert!(found["why_not"].as_str().unwrap().contains("llama.block_count"));
    assert_eq!(found["tensors"].as_array().unwrap().len(), tensors().len());
}
