//! Every error names the key or the tensor, what was expected and what was found.

use arbtest::arbitrary::{Result, Unstructured};
use gguf::{Array, ElementType, StrArray, Value};
use graph::DType;
use models::{ARCHITECTURES, BodyParams, Model, ModelError, Tensors};

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
        "general.architecture gpt2 is not supported; supported: llama, qwen2, qwen3, qwen3moe, gemma2, gemma3, phi3, bert"
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

/// The message of the error that one key of another architecture brings.
#[track_caller]
fn one_of(arch: &str, key: &str, value: impl Into<Value>) -> String {
    let key = format!("{arch}.{key}");
    let error = model_with(arch, &[(&key, Some(value.into()))]).expect_err("refused").to_string();
    assert!(error.starts_with(&format!("key {key} is ")) || error.starts_with("tensor "), "{error}");
    error
}

#[test]
fn counts_of_experts_must_be_possible() {
    for key in ["expert_count", "expert_used_count", "expert_feed_forward_length"] {
        let error = one_of("qwen3moe", key, 0u32);
        assert_eq!(error, format!("key qwen3moe.{key} is 0: expected at least 1"));
    }
    for used in [7u32, u32::MAX] {
        let expected = format!("key qwen3moe.expert_used_count is {used}: expected at most expert_count, 6");
        assert_eq!(one_of("qwen3moe", "expert_used_count", used), expected);
    }
    let error = one_of("qwen3moe", "expert_count", 7u32);
    assert_eq!(error, "tensor blk.0.ffn_gate_inp.weight has shape [64, 6]: expected [64, 7]");
    let error = one_of("qwen3moe", "expert_feed_forward_length", 97u32);
    assert_eq!(error, "tensor blk.0.ffn_gate_exps.weight has shape [64, 96, 6]: expected [64, 97, 6]");
    // Not stated, it is a part of the dense width: 160 / 2.
    let length = "qwen3moe.expert_feed_forward_length";
    let error = model_with("qwen3moe", &[(length, None)]).unwrap_err().to_string();
    assert_eq!(error, "tensor blk.0.ffn_gate_exps.weight has shape [64, 96, 6]: expected [64, 80, 6]");
    let narrow = ("qwen3moe.feed_forward_length", Some(192u32.into()));
    model_with("qwen3moe", &[(length, None), narrow]).unwrap();
    let nothing = ("qwen3moe.feed_forward_length", Some(1u32.into()));
    let error = model_with("qwen3moe", &[(length, None), nothing]).unwrap_err().to_string();
    assert_eq!(error, "key qwen3moe.feed_forward_length is 1: expected at least expert_used_count, 2");
    for key in ["expert_count", "expert_used_count"] {
        let key = format!("qwen3moe.{key}");
        let error = model_with("qwen3moe", &[(&key, None)]).unwrap_err().to_string();
        assert!(error.contains(&key) && error.contains("missing"), "{error}");
    }
}

#[test]
fn patterns_of_windows_have_a_flag_a_layer_or_a_period() {
    let key = "gemma3.attention.sliding_window_pattern";
    let windows = |value: Value| {
        let config = model_with("gemma3", &[(key, Some(value))]).unwrap().config;
        (0..7).map(|layer| config.window_of(layer).is_some()).collect::<Vec<_>>()
    };
    let flags = vec![true, false, false, true, true, false, true];
    assert_eq!(windows(flags.clone().into()), flags);
    let numbers: Vec<u32> = flags.iter().map(|f| u32::from(*f)).collect();
    assert_eq!(windows(numbers.into()), flags);
    assert_eq!(windows(3u32.into()), [true, true, false, true, true, false, true]);
    assert_eq!(windows(u32::MAX.into()), [true; 7]);
    assert_eq!(windows(1u32.into()), [false; 7], "every layer is the last of its period");

    assert_eq!(
        one_of("gemma3", "attention.sliding_window_pattern", 0u32),
        format!("key {key} is 0: expected at least 1")
    );
    for n in [0, 6, 8] {
        let error = one_of("gemma3", "attention.sliding_window_pattern", vec![true; n]);
        assert_eq!(error, format!("key {key} is {n} flags: expected one a layer, 7"));
    }
    for value in [Value::from("all"), Value::from(vec![1.0f32; 7])] {
        let error = model_with("gemma3", &[(key, Some(value))]).unwrap_err().to_string();
        assert!(error.contains(key), "{error}");
    }
}

#[test]
fn windows_are_where_layers_have_them() {
    let window = |arch: &str, value: Option<Value>| {
        model_with(arch, &[(&format!("{arch}.attention.sliding_window"), value)]).map(|m| m.config.window)
    };
    for none in [None, Some(0u32.into())] {
        assert_eq!(window("gemma3", none).unwrap(), None, "all layers are full");
    }
    assert_eq!(window("gemma2", None).unwrap().unwrap().positions, 4096);
    let error = window("gemma2", Some(0u32.into())).unwrap_err().to_string();
    assert_eq!(error, "key gemma2.attention.sliding_window is 0: expected at least 1");
    assert_eq!(window("phi3", Some(7u32.into())).unwrap(), None);
    // Layers that are all full give nothing back.
    let period = ("gemma3.attention.sliding_window_pattern", Some(1u32.into()));
    assert_eq!(model_with("gemma3", &[period]).unwrap().config.window, None);
}

#[test]
fn caps_are_finite_and_zero_is_none() {
    let expected = |arch: &str, key: &str, shown: &str| {
        format!("key {arch}.{key} is {shown}: expected a finite number from 0")
    };
    for (value, shown) in [(f32::NAN, "NaN"), (f32::INFINITY, "inf"), (-1.0, "-1")] {
        for (arch, key) in [
            ("gemma2", "attn_logit_softcapping"),
            ("gemma2", "final_logit_softcapping"),
            ("gemma3", "final_logit_softcapping"),
        ] {
            assert_eq!(one_of(arch, key, value), expected(arch, key, shown));
        }
    }
    let caps = |arch: &str, value: Option<f32>| {
        let keys = ["attn_logit_softcapping", "final_logit_softcapping"].map(|key| format!("{arch}.{key}"));
        let changes = keys.each_ref().map(|key| (key.as_str(), value.map(Value::from)));
        let config = model_with(arch, &changes).unwrap().config;
        (config.attention_soft_cap, config.final_soft_cap)
    };
    assert_eq!(caps("gemma2", None), (Some(50.0), Some(30.0)));
    assert_eq!(caps("gemma2", Some(0.0)), (None, None));
    assert_eq!(caps("gemma3", None), (None, None));
    assert_eq!(caps("gemma3", Some(20.0)), (None, Some(20.0)), "never a cap of scores");
}

#[test]
fn factors_for_long_and_short_contexts_are_both_checked() {
    let cut = |t: Tensor| Some(Tensor { dims: vec![5], ..t });
    for name in ["rope_factors_long.weight", "rope_factors_short.weight"] {
        assert_eq!(tensor("phi3", name, cut), format!("tensor {name} has shape [5]: expected [6]"));
    }
    let error = tensor("phi3", "rope_factors_short.weight", |_| None);
    assert_eq!(error, "tensor rope_factors_short.weight is missing: expected shape [6]");
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
fn sizes_whose_sum_is_too_large_for_a_number_are_no_tensor() {
    let keys = ["head_count", "head_count_kv", "key_length", "value_length"];
    let keys = keys.map(|key| format!("phi3.attention.{key}"));
    let changes = keys.each_ref().map(|key| (key.as_str(), Some(u32::MAX.into())));
    let error = model_with("phi3", &changes).unwrap_err().to_string();
    assert!(error.starts_with("tensor blk.0.attn_qkv.weight has shape [64, 96]: expected [64, "), "{error}");
}

#[test]
fn any_number_in_any_key_gives_an_error_or_a_model() {
    let optional = [
        "attention.key_length",
        "attention.value_length",
        "attention.sliding_window_pattern",
        "rope.scaling.type",
        "rope.scaling.factor",
        "rope.freq_base_swa",
    ];
    let files = ARCHITECTURES.map(|arch| {
        let file = file(arch.name, "micro");
        // Tokens are no numbers, and a change of the architecture is another test.
        let own =
            file.metadata().iter().map(|(key, _)| key.to_owned()).filter(|key| key.starts_with(arch.name));
        let keys: Vec<String> =
            own.chain(optional.iter().map(|key| format!("{}.{key}", arch.name))).collect();
        (file, keys)
    });
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
        let (file, keys) = u.choose(&files)?;
        let mut changes = Vec::new();
        for _ in 0..u.int_in_range(1..=4)? {
            let key = u.choose(keys)?.as_str();
            if changes.iter().all(|(k, _)| *k != key) {
                changes.push((key, Some(number(u)?)));
            }
        }
        match Model::new(&with_keys(file.metadata(), &changes), Tensors::of(file)) {
            Ok(model) => {
                // An encoder has no more positions than it has embeddings of.
                let trained = model.config.n_ctx_train;
                let n_ctx = if model.config.arch.encoder { trained.min(4096) } else { 4096 };
                graph::validate(&model.body(&BodyParams::new(n_ctx, DType::F16)).unwrap()).unwrap();
                graph::validate(&model.head().unwrap()).unwrap();
            }
            Err(ModelError::Graph(error)) => panic!("{changes:?} reached the builder: {error}"),
            Err(error) => assert!(!error.to_string().is_empty()),
        }
        Ok(())
    })
    .budget_ms(1500);
}
