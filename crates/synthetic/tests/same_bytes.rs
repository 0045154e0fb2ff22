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
        ("qwen2", "tiny", "Q5_0", 1, "07d81966a70a35dda0c3ed82b87ac86c4da9c0d546d6fbc7960611019068937b"),
        ("llama", "tiny", "Q5_1", 1, "2ee5301bb488ac5605f81829a53d504c0e3511b0e026353417bca650ab7ef9d0"),
        ("qwen2", "tiny", "Q2_K", 1, "49e5a764a682d1ef987a4c0c2bfeaa88aa2b8a47a2cbc195e6430330ceb8c538"),
        ("llama", "tiny", "Q3_K_S", 1, "0e81e0606c426ddf24dc455cf33750cd7d4acfdd290c5733deafd1afe9079b29"),
        ("qwen2", "tiny", "Q3_K_M", 1, "e9a60742e722517a2456bf477a93d352772f49d7afcb79068d1e890821a114f5"),
        ("llama", "tiny", "Q4_K_S", 1, "b1e235989731f450bae96fee42f92670da9a4a2a2cc26e9aa9535fcd0cb5cdec"),
        ("llama", "tiny", "Q4_K_M", 1, "2ebd994cd4557df8a00cb15a120465942017e18bf499d70ffd0b466d469849a4"),
        ("qwen2", "tiny", "Q4_K_M", 1, "edaeb99c75bc20c065f22af61178f23fa59da4c19aa90a73e042ed8b0b888b0d"),
        ("llama", "tiny", "Q5_K_S", 1, "362dcb2ea76a016fa8ea251f6c2a283bbc983de059b117f72444c9130b4808d5"),
        ("qwen2", "tiny", "Q5_K_M", 1, "b638d3894817eae760214f79de4fab859ebe3c2b596469fda874ed0671f81b69"),
        ("qwen2", "tiny", "Q6_K", 1, "09aa4633ed71417882ced3dfa1bf9b8641732db7f2501e101b8c9bbc1f14148f"),
        ("llama", "tiny", "IQ4_NL", 1, "6e0f52c1ab207e4ba05e105574db81ffc293eae3f6c1b4992d2516d4198e229f"),
        ("qwen2", "tiny", "IQ4_XS", 1, "3fd45852599c53d41ef865f7570ad334fd9768de6066bd0858b9988d3495d8f7"),
        ("qwen3", "tiny", "Q4_K_M", 1, "a5b687694c9726885fc6f0209abfcd3695306dc88607824dbd7a78bf3eddd200"),
        ("qwen3", "micro", "F32", 1, "ec67b1f84581d5569cc8d145f5020fddc1baa3253e40e15f201fbe8a661eca8b"),
        ("gemma3", "tiny", "Q4_K_M", 1, "7c1f032919bbef5fb33924523dfe521b2c62fd81469efb8273d1aaa3e15f6942"),
        ("gemma3", "micro", "F32", 1, "ee68a3f05f796279ef284dd5876eeb6a1b8f1aafa9e539d50ff642d9fca91839"),
        ("qwen3moe", "tiny", "Q4_K_M", 1, "dcf4feb32f991f515b7aefd781d9cacf540e6ff31615e6d959a8cc3af729bae9"),
        ("qwen3moe", "micro", "F32", 1, "6e6180d7d128cb1dd00ee7b6ce27afe57d65c2cf354b8d04b9f5852e2a50cdd3"),
        ("gemma2", "tiny", "Q4_K_M", 1, "11ddafbe966f87c9a708834b2c4126f88c33d4512adeae59c26bca67c327f8e0"),
        ("gemma2", "micro", "F32", 1, "9b8765c39433fbd32d1216cd5b1ba27a639f4b5915dfe75884c5fde5755996cb"),
        ("phi3", "tiny", "Q4_K_M", 1, "f3150e7aab361b3869c68bf65cdb13c928b1b6fdfdb624749bbe8b8df0e899cc"),
        ("phi3", "micro", "F32", 1, "e880dc7f6b0e5b6a6033df3bb7c0c332f0c3b4d36770458fa525d8f304427eb5"),
        ("phi3", "micro-long", "F32", 1, "0c50812e925b7a9d8e5fc1304eeb9d9b288aa3ea3c0628ae4ac9b0aab9652090"),
        ("gemma3", "micro", "Q2_K", 1, "a0be2f5b3b393ff5811668bd5b4ae6e19526a24f518149fc9c1bda1e7a6323b2"),
        ("phi3", "micro", "IQ4_XS", 1, "e9cf991f130584328d9472b93d91417898818ffe329e4e5ba5b287b34c0492c2"),
        ("gemma2", "micro", "IQ4_NL", 1, "8506998b17efd7afea4ecf3f7dfd381f4cfabc507cca6809989bf0e2e5a8edb5"),
        ("bert", "micro", "F32", 1, "936ab4596b9049ab528723e1615871cb44c28bb31bc2f8325069547f70be51de"),
        ("bert", "tiny", "F32", 1, "914177dc31c23beabe4f16373908d08a69f2389374ae46884961125b78e7b257"),
        ("bert", "tiny", "Q8_0", 1, "e0f0a803a03b57c32db79de326c3e5d8b3995022c55fcf7d448e792b1b70add9"),
        ("bert", "tiny", "Q4_K_M", 1, "b700ec59250db6dde37f05c4a2e9334d06817966ed084a6ccdc103310df0f7f3"),
        ("qwen3moe", "micro", "Q5_K_M", 1, "bc1aeae50cd5ee3bb720b85b6a11fafcb5520a601157b1448ac7f4a4672e14b8"),
    ];
    for (arch, preset, quant, seed, expected) in rows {
        let bytes = synthetic::build(arch, preset, quant, seed, None).unwrap();
        assert_eq!(sha256(&bytes), expected, "{arch} {preset} {quant} seed {seed}");
    }
}

/// With nine layers, mixes have layers of every kind.
#[test]
fn deeper_models_are_the_reference_files_byte_for_byte() {
    #[rustfmt::skip] // A table reads best with a line for each row.
    let rows = [
        ("llama", "Q4_K_M", "11dacd9a0d8c460f7a2c72fce33755c1da5ffc859a6ce72c752a5c7ddfb0ed1e"),
        ("qwen2", "Q4_K_S", "7e894a2c6f31d27d270ede787e7e978bdedc41694ed89fd77811ef6ee967fdb9"),
        ("llama", "Q5_K_M", "23549af1002ab1ef089e359eb048f81b93906107ecd3086a798dd13d6f18fcf8"),
        ("qwen2", "Q3_K_M", "a081b4d4130b57f99892866914b1e55894c8ce06b43b16b0b2287dc41d321acb"),
        ("llama", "Q2_K", "ee173990bc4df5b169e8b5b2097e151fe5ec07c71ac22a593d38a3f99879d1d3"),
        ("qwen2", "IQ4_XS", "d514d0214942939d1f170d54e3a5a387b3d988835b040ab2c5afc90a544ea18d"),
    ];
    for (arch, quant, expected) in rows {
        let bytes = synthetic::build(arch, "tiny", quant, 1, Some(9)).unwrap();
        assert_eq!(sha256(&bytes), expected, "{arch} {quant}");
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
