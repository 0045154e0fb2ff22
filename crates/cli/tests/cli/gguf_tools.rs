//! `minfer gguf`.

use std::fs;

use serde_json::json;

use crate::support::{command, json, micro, minfer, run, tiny};

#[test]
fn dump_prints_every_key_with_its_type_and_every_tensor_with_its_place() {
    let found = json(&["gguf", "dump", tiny(), "--json"]);
    assert_eq!(found["metadata"]["llama.block_count"], json!({"type": "u32", "value": 2}));
    let tokens = &found["metadata"]["tokenizer.ggml.tokens"];
    assert_eq!(tokens["type"], "array of string");
    let inspected = json(&["inspect", tiny(), "--json"]);
    assert_eq!(tokens["value"].as_array().unwrap().len() as u64, inspected["tokenizer"]["tokens"]);
    let tensors = found["tensors"].as_array().unwrap();
    assert_eq!(tensors.len(), inspected["tensors"].as_array().unwrap().len());
    let mut end = 0;
    for tensor in tensors {
        let offset = tensor["offset"].as_u64().unwrap();
        assert!(offset >= end && offset.is_multiple_of(found["alignment"].as_u64().unwrap()), "{tensor}");
        end = offset + tensor["bytes"].as_u64().unwrap();
    }
    let shown = minfer(&["gguf", "dump", tiny()]).expect(0).out;
    assert!(
        shown.contains("llama.block_count") && shown.contains("blk.1.") && shown.contains("..."),
        "{shown}"
    );
}

#[test]
fn a_model_that_is_split_runs_and_is_the_same_file_when_merged() {
    let folder = tempfile::tempdir().unwrap();
    let (prefix, whole) = (folder.path().join("m"), folder.path().join("whole.gguf"));
    let (prefix, whole) = (prefix.to_str().unwrap(), whole.to_str().unwrap());
    for limit in [["--max-size", "100K"], ["--max-tensors", "7"]] {
        let made = minfer(&[&["gguf", "split", micro(), prefix], &limit[..]].concat()).expect(0).out;
        let parts: Vec<&str> = made.lines().collect();
        assert!(
            parts.len() > 1 && parts[0].ends_with(&format!("m-00001-of-{:05}.gguf", parts.len())),
            "{made}"
        );
        let logits = |model| json(&["logits", model, "--tokens", "1,2,3", "--json"]);
        assert_eq!(logits(parts[0]), logits(micro()));
        assert_eq!(minfer(&["gguf", "merge", parts[1], whole]).expect(0).out, "");
        assert_eq!(fs::read(whole).unwrap(), fs::read(micro()).unwrap());
        minfer(&["gguf", "merge", parts[0], whole]).refused(1, &[whole]);
        parts.iter().chain([&whole]).for_each(|path| fs::remove_file(path).unwrap());
    }
}

#[test]
fn set_changes_a_key_by_the_type_it_has_or_adds_one_of_a_type() {
    let folder = tempfile::tempdir().unwrap();
    let change = |name: &str, assignment: &[&str]| {
        let out = folder.path().join(name);
        let out = out.to_str().unwrap();
        minfer(&[&["gguf", "set", micro(), out], assignment].concat()).expect(0);
        json(&["gguf", "dump", out, "--json"])
    };
    let plain = json(&["gguf", "dump", micro(), "--json"]);
    let found = change("length", &["qwen2.context_length=77"]);
    assert_eq!(found["metadata"]["qwen2.context_length"], json!({"type": "u32", "value": 77}));
    assert_eq!(found["tensors"], plain["tensors"]);
    let found = change("bool", &["some.key", "bool", "false"]);
    assert_eq!(found["metadata"]["some.key"], json!({"type": "bool", "value": false}));
    let found = change("number", &["some.key", "i32", "-7"]);
    assert_eq!(found["metadata"]["some.key"], json!({"type": "i32", "value": -7}));
    let found = change("text", &["general.architecture=a=b c"]);
    assert_eq!(found["metadata"]["general.architecture"]["value"], "a=b c");
}

#[test]
fn what_cannot_be_done_is_refused_and_leaves_no_file() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out.gguf");
    let out = out.to_str().unwrap();
    let set = |code, assignment: &[&str], words: &[&str]| {
        minfer(&[&["gguf", "set", micro(), out], assignment].concat()).refused(code, words);
    };
    set(2, &[], &["KEY=VALUE"]);
    set(2, &["key"], &["KEY TYPE VALUE"]);
    set(2, &["key", "u32"], &["KEY TYPE VALUE"]);
    set(1, &["no.such.key=1"], &["no.such.key", "KEY TYPE VALUE"]);
    set(1, &["qwen2.context_length=many"], &["many", "u32"]);
    set(1, &["tokenizer.ggml.tokens=x"], &["array"]);
    set(1, &["split.count", "u16", "2"], &["split.count"]);
    minfer(&["gguf", "set", micro(), micro(), "qwen2.context_length=7"]).refused(1, &[micro()]);
    minfer(&["gguf", "split", micro(), out]).refused(2, &["--max-size", "--max-tensors"]);
    for size in ["0", "2T", "G", "-1", "99999999999G"] {
        minfer(&["gguf", "split", micro(), out, "--max-size", size]).refused(2, &["--max-size"]);
    }
    minfer(&["gguf", "merge", "no/such.gguf", out]).refused(1, &["no/such.gguf"]);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_ends_a_dump_with_an_error() {
    let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    run(command(&["gguf", "dump", micro(), "--json"]).stdout(full)).refused(1, &["standard output"]);
}
