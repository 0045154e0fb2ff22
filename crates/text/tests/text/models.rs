//! Token ids of real vocabularies, as an independent engine gives them.
//!
//! `MINFER_TEST_MODELS` names the folder that holds the model files; what is not there is skipped,
//! visibly.

use std::path::Path;

use gguf::{GgufFile, Metadata, StrArray};
use serde_json::Value;
use text::{EncodeOptions, Strings, Tokenizer, VocabularyData};

/// Strings of a file where they lie.
struct FileStrings<'a>(Option<&'a StrArray>);

impl Strings for FileStrings<'_> {
    fn len(&self) -> usize {
        self.0.map_or(0, StrArray::len)
    }
    fn get(&self, index: usize) -> &str {
        self.0.unwrap().get(index)
    }
}

fn tokenizer(metadata: &Metadata) -> Tokenizer {
    let key = |name: &str| format!("tokenizer.ggml.{name}");
    let id = |name: &str| metadata.get_u32(&key(name)).unwrap();
    let strings = |name: &str| FileStrings(metadata.get_str_array(&key(name)).unwrap());
    let flag = |name: &str| metadata.get_bool(&key(name)).unwrap();
    Tokenizer::new(VocabularyData {
        model: metadata.require_str(&key("model")).unwrap(),
        pre: metadata.get_str(&key("pre")).unwrap(),
        tokens: &strings("tokens"),
        token_types: metadata.get_i32_array(&key("token_type")).unwrap().as_deref(),
        scores: metadata.get_f32_array(&key("scores")).unwrap().as_deref(),
        merges: &strings("merges"),
        bos: id("bos_token_id"),
        eos: id("eos_token_id"),
        unk: id("unknown_token_id"),
        add_bos: flag("add_bos_token"),
        add_eos: flag("add_eos_token"),
        add_space_prefix: flag("add_space_prefix"),
        ..Default::default()
    })
    .unwrap()
}

fn check(name: &str, file: &str) {
    let Ok(folder) = std::env::var("MINFER_TEST_MODELS") else {
        eprintln!("skipped: MINFER_TEST_MODELS is not set");
        return;
    };
    let path = Path::new(&folder).join(file);
    if !path.is_file() {
        eprintln!("skipped: there is no {}", path.display());
        return;
    }
    let tokenizer = tokenizer(GgufFile::open(path).unwrap().metadata());
    let cases: Vec<Value> = serde_json::from_str(include_str!("../data/token_ids.json")).unwrap();
    assert_eq!(cases.len(), 30);
    for case in cases {
        let text = case["string"].as_str().unwrap();
        for (on, expected) in [true, false].into_iter().zip(case[name].as_array().unwrap()) {
            let expected: Vec<u32> = serde_json::from_value(expected.clone()).unwrap();
            let options = EncodeOptions { add_special: on, parse_special: on };
            assert_eq!(tokenizer.encode(text, options).unwrap(), expected, "{name}, {text:?}, {options:?}");
            assert!(on || tokenizer.decode(&expected, true) == text, "{name}, {text:?}");
        }
    }
}

#[test]
fn a_byte_level_vocabulary_gives_the_stored_ids() {
    check("smollm2", "SmolLM2-135M-Instruct.Q4_1.gguf");
}

#[test]
fn a_sentence_piece_vocabulary_gives_the_stored_ids() {
    check("gemma3", "gemma-3-270m-q4_k_m.gguf");
}
