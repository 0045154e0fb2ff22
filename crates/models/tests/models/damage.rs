//! Every error names the key or the tensor, what was expected and what was found.

use arbtest::arbitrary::{Result, Unstructured};
use gguf::{Array, ElementType, StrArray, Value};
use models::{Model, ModelError, Tensors};

use crate::common::*;

/// The message of the error that a change of keys brings.
#[track_caller]
fn message(changes: &[(&str, Option<Value>)]) -> String {
    model_with("llama", changes).expect_err("refused").to_string()
}

#[track_caller]
fn one(key: &str, value: impl Into<Value>) -> String {
    message(&[(key, Some(value.into()))])
}

#[test]
fn an_unknown_architecture_lists_the_known_ones() {
    let error = one("general.architecture", "gpt2");
    assert_eq!(
        error,
        "general.architecture gpt2 is not supported; supported: llama, qwen2, qwen3, qwen3moe, gemma2, gemma3, phi3"
    );
    let error = message(&[("general.architecture", None)]);
    assert!(error.contains("general.architecture") && error.contains("missing"), "{error}");
}

#[test]
fn missing_keys_are_named() {
    let keys = [
        "llama.block_count",
        "llama.context_length",
        "llama.embedding_length",
        "llama.feed_forward_length",
        "llama.attention.head_count",
        "llama.attention.layer_norm_rms_epsilon",
    ];
    for key in keys {
        let error = message(&[(key, None)]);
        assert!(error.contains(key) && error.contains("missing"), "{error}");
    }
}

#[test]
fn keys_of_another_type_are_named() {
    for (key, value) in [
        ("llama.block_count", Value::from("2")),
        ("llama.block_count", Value::from(-2i32)),
        ("llama.attention.head_count_kv", Value::from(vec![2u32, 2])),
        ("llama.attention.layer_norm_rms_epsilon", Value::from(1u32)),
        ("llama.rope.freq_base", Value::from("10000")),
        ("tokenizer.ggml.tokens", Value::from(vec![1u32, 2])),
    ] {
        let found = value.describe();
        let error = one(key, value);
        assert!(error.contains(key), "{error}");
        let kind = found.split(' ').next().unwrap();
        assert!(error.contains(kind), "{error} does not say {kind}");
    }
}

#[test]
fn counts_of_nothing_are_refused() {
    let keys = [
        "block_count",
        "context_length",
        "embedding_length",
        "feed_forward_length",
        "attention.head_count",
        "attention.head_count_kv",
        "attention.key_length",
        "attention.value_length",
        "rope.dimension_count",
    ];
    for key in keys {
        let key = format!("llama.{key}");
        assert_eq!(one(&key, 0u32), format!("key {key} is 0: expected at least 1"));
    }
}

#[test]
fn head_counts_must_divide() {
    let error = one("llama.attention.head_count_kv", 3u32);
    assert_eq!(error, "key llama.attention.head_count_kv is 3: expected a divisor of head_count, 4");
    let five = Some(Value::from(5u32));
    let error =
        message(&[("llama.attention.head_count", five.clone()), ("llama.attention.head_count_kv", five)]);
    assert_eq!(error, "key llama.attention.head_count is 5: expected a divisor of embedding_length, 64");
    let error = one("llama.attention.value_length", 8u32);
    assert_eq!(error, "key llama.attention.value_length is 8: expected key_length, 16");
}

#[test]
fn a_huge_block_count_is_refused_before_anything_is_sized_by_it() {
    let tensors = Tensors::of(&file("llama", "micro")).len();
    for count in [u32::MAX, tensors as u32 + 1] {
        let expected =
            format!("key llama.block_count is {count}: expected at most the number of tensors, {tensors}");
        assert_eq!(one("llama.block_count", count), expected);
    }
    // Within that bound the first layer that is not there is named.
    let error = one("llama.block_count", 3u32);
    assert_eq!(error, "tensor blk.2.attn_norm.weight is missing: expected shape [64]");
}

#[test]
fn rotations_must_fit_a_head() {
    for rot in [18u32, 7, u32::MAX] {
        let expected = format!(
            "key llama.rope.dimension_count is {rot}: expected an even number up to the length of a head, 16"
        );
        assert_eq!(one("llama.rope.dimension_count", rot), expected);
    }
    let error = one("llama.rope.scaling.type", "bend");
    assert_eq!(error, "key llama.rope.scaling.type is bend: expected none, linear or yarn");
    model_with("llama", &[("llama.rope.scaling.type", Some("none".into()))]).unwrap();
    let half = model_with("llama", &[("llama.rope.dimension_count", Some(8u32.into()))]).unwrap();
    assert_eq!(half.config.rope.rot, 8);
}

#[test]
fn numbers_must_be_finite_and_in_range() {
    let eps = "llama.attention.layer_norm_rms_epsilon";
    for (value, shown) in [(f32::NAN, "NaN"), (f32::INFINITY, "inf"), (-1.0, "-1")] {
        assert_eq!(one(eps, value), format!("key {eps} is {shown}: expected a finite number from 0"));
    }
    model_with("llama", &[(eps, Some(0f32.into()))]).unwrap();
    let base = "llama.rope.freq_base";
    for (value, shown) in [(f32::NAN, "NaN"), (f32::NEG_INFINITY, "-inf"), (-1.0, "-1"), (0.0, "0")] {
        assert_eq!(one(base, value), format!("key {base} is {shown}: expected a finite number above 0"));
    }
    let model = model_with("llama", &[(base, None)]).unwrap();
    assert_eq!(model.config.rope.base, 10000.0, "the base that Llama 1 has and does not state");
}

#[test]
fn the_vocabulary_agrees_with_the_table() {
    let key = "tokenizer.ggml.tokens";
    let strings = |n: usize| {
        let mut strings = StrArray::new();
        (0..n).for_each(|i| strings.push(&i.to_string()));
        Value::Array(Array::String(strings))
    };
    assert_eq!(one(key, strings(0)), "key tokenizer.ggml.tokens is empty: expected at least 1 token");
    let error = one(key, strings(321));
    assert_eq!(error, "tensor token_embd.weight has shape [64, 320]: expected [64, 321]");
    // Padded tables have more rows than there are tokens.
    let model = model_with("llama", &[(key, Some(strings(300)))]).unwrap();
    assert_eq!(model.config.n_vocab, 320);
    let model = model_with("llama", &[(key, None)]).unwrap();
    assert_eq!(model.config.n_vocab, 320);
}

/// The message of the error that a change of a tensor brings.
#[track_caller]
fn tensor(arch: &str, name: &str, change: impl Fn(Tensor) -> Option<Tensor>) -> String {
    let file = file(arch, "micro");
    assert!(file.tensor(name).is_some(), "{name} is there before the change");
    let tensors = with_tensor(&file, name, change);
    Model::new(file.metadata(), tensors).expect_err("refused").to_string()
}

#[test]
fn missing_tensors_are_named_with_their_shape() {
    let cases: [(&str, &str, &[usize]); 6] = [
        ("llama", "token_embd.weight", &[64, 320]),
        ("llama", "blk.0.attn_k.weight", &[64, 32]),
        ("llama", "blk.1.ffn_up.weight", &[64, 160]),
        ("llama", "blk.1.ffn_down.weight", &[160, 64]),
        ("llama", "output_norm.weight", &[64]),
        ("qwen2", "blk.1.attn_v.bias", &[32]),
    ];
    for (arch, name, shape) in cases {
        let expected = format!("tensor {name} is missing: expected shape {shape:?}");
        assert_eq!(tensor(arch, name, |_| None), expected);
    }
}

#[test]
fn tensors_of_another_shape_are_named_with_both() {
    let reshape = |dims: &'static [u64]| move |t: Tensor| Some(Tensor { dims: dims.to_vec(), ..t });
    let error = tensor("llama", "blk.0.attn_k.weight", reshape(&[64, 64]));
    assert_eq!(error, "tensor blk.0.attn_k.weight has shape [64, 64]: expected [64, 32]");
    let error = tensor("llama", "blk.0.attn_k.weight", reshape(&[64, 32, 2]));
    assert_eq!(error, "tensor blk.0.attn_k.weight has shape [64, 32, 2]: expected [64, 32]");
    let error = tensor("llama", "output.weight", reshape(&[64]));
    assert_eq!(error, "tensor output.weight has shape [64]: expected [64, 320]");
    let error = tensor("llama", "blk.1.attn_norm.weight", reshape(&[32]));
    assert_eq!(error, "tensor blk.1.attn_norm.weight has shape [32]: expected [64]");
    // Dimensions of 1 at the end say nothing.
    let file = file("llama", "micro");
    let tensors = with_tensor(&file, "blk.0.attn_k.weight", reshape(&[64, 32, 1, 1]));
    Model::new(file.metadata(), tensors).unwrap();
}

#[test]
fn tensors_of_another_type_are_named_with_the_types_that_serve() {
    let retype = |ty| move |t: Tensor| Some(Tensor { ty, ..t });
    let error = tensor("llama", "blk.0.attn_q.weight", retype(ElementType::I8));
    let expected = "tensor blk.0.attn_q.weight has type I8: expected one of F32, F16, BF16, Q4_0, Q4_1, ";
    assert!(error.starts_with(expected), "{error}");
    let error = tensor("llama", "blk.0.attn_q.weight", retype(ElementType::I32));
    assert!(error.contains("has type I32: expected one of F32"), "{error}");
    for (arch, name) in [("llama", "output_norm.weight"), ("qwen2", "blk.0.attn_q.bias")] {
        let error = tensor(arch, name, retype(ElementType::F16));
        assert_eq!(error, format!("tensor {name} has type F16: expected one of F32"));
    }
}

#[test]
fn any_number_in_any_key_gives_an_error_or_a_model() {
    let file = file("llama", "micro");
    let keys: Vec<String> = file.metadata().iter().map(|(key, _)| key.to_owned()).collect();
    let optional = ["attention.key_length", "attention.value_length", "rope.scaling.type"];
    let keys: Vec<String> =
        keys.into_iter().chain(optional.iter().map(|key| format!("llama.{key}"))).collect();
    let number = |u: &mut Unstructured| -> Result<Value> {
        let small = [0u32, 1, 2, 3, 4, 7, 16, 32, 64, 65, 160, 320, 1 << 16, 1 << 31, u32::MAX];
        Ok(match u.int_in_range(0..=4)? {
            0 | 1 => Value::from(*u.choose(&small)?),
            2 => Value::from(u.arbitrary::<u64>()?),
            3 => Value::from(u.arbitrary::<f32>()?),
            _ => Value::from(u.arbitrary::<i32>()?),
        })
    };
    arbtest::arbtest(|u| {
        let mut changes = Vec::new();
        for _ in 0..u.int_in_range(1..=3)? {
            let key = u.choose(&keys)?.as_str();
            if changes.iter().all(|(k, _)| *k != key) {
                changes.push((key, Some(number(u)?)));
            }
        }
        match Model::new(&with_keys(file.metadata(), &changes), Tensors::of(&file)) {
            Ok(model) => {
                graph::validate(&model.head().unwrap()).unwrap();
            }
            Err(ModelError::Graph(error)) => panic!("{changes:?} reached the builder: {error}"),
            Err(error) => assert!(!error.to_string().is_empty()),
        }
        Ok(())
    })
    .budget_ms(1500);
}
