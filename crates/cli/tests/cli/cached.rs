//! `minfer list` and `minfer rm`.

use std::fs;
use std::path::Path;

use serde_json::json;

use crate::support::{Ran, command, micro, run, tiny};

fn in_cache(cache: &Path, arguments: &[&str]) -> Ran {
    run(command(arguments).env("MINFER_CACHE", cache))
}

fn names(cache: &Path) -> Vec<String> {
    let out = in_cache(cache, &["list", "--json"]).expect(0).out;
    let found: serde_json::Value = serde_json::from_str(&out).unwrap();
    found["models"].as_array().unwrap().iter().map(|m| m["name"].as_str().unwrap().to_owned()).collect()
}

fn filled() -> tempfile::TempDir {
    let cache = tempfile::tempdir().unwrap();
    fs::create_dir_all(cache.path().join("hf/Org/Repo/sub")).unwrap();
    fs::copy(micro(), cache.path().join("hf/Org/Repo/m.gguf")).unwrap();
    fs::copy(tiny(), cache.path().join("hf/Org/Repo/sub/n.gguf")).unwrap();
    fs::write(cache.path().join("hf/Org/Repo/refs.json"), r#"{"":["m.gguf"]}"#).unwrap();
    fs::write(cache.path().join("SmolLM2-135M-Instruct.Q4_1.gguf.part"), [0; 100]).unwrap();
    fs::write(cache.path().join("SmolLM2-135M-Instruct.Q4_1.gguf.part.lock"), "").unwrap();
    fs::write(cache.path().join("notes.txt"), "mine").unwrap();
    cache
}

#[test]
fn a_cache_that_is_not_there_has_no_models() {
    let cache = tempfile::tempdir().unwrap();
    let none = cache.path().join("none");
    let out = in_cache(&none, &["list", "--json"]).expect(0).out;
    let found: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!(found, json!({"version": 1, "folder": none, "models": []}));
    assert!(in_cache(&none, &["list"]).expect(0).out.contains("no models"));
    in_cache(&none, &["rm", "smollm2-135m"]).refused(1, &["smollm2-135m", "nothing"]);
}

#[test]
fn every_model_is_listed_with_its_size_kind_and_whether_it_is_whole() {
    let cache = filled();
    let out = in_cache(cache.path(), &["list", "--json"]).expect(0).out;
    let found: serde_json::Value = serde_json::from_str(&out).unwrap();
    let model = |name: &str, path: &str, bytes: u64, whole: bool, arch: Option<&str>, quant: Option<&str>| {
        json!({"name": name, "path": cache.path().join(path), "bytes": bytes, "complete": whole,
            "architecture": arch, "quant": quant})
    };
    let bytes = |path: &str| fs::metadata(path).unwrap().len();
    let expected = [
        model("hf/Org/Repo/m.gguf", "hf/Org/Repo/m.gguf", bytes(micro()), true, Some("qwen2"), Some("F32")),
        model(
            "hf/Org/Repo/sub/n.gguf",
            "hf/Org/Repo/sub/n.gguf",
            bytes(tiny()),
            true,
            Some("llama"),
            Some("Q8_0"),
        ),
        model("smollm2-135m", "SmolLM2-135M-Instruct.Q4_1.gguf", 100, false, None, None),
    ];
    assert_eq!(found["models"], json!(expected));
    let shown = in_cache(cache.path(), &["list"]).expect(0).out;
    assert!(shown.lines().count() == 3 && shown.contains("unfinished") && shown.contains("qwen2"), "{shown}");
    // What is listed is a model for every command.
    let inspected = in_cache(cache.path(), &["inspect", "hf/Org/Repo/sub/n.gguf", "--json"]).expect(0).out;
    assert!(inspected.contains("llama"));
}

#[test]
fn a_split_model_is_one_model_and_goes_as_one() {
    let cache = tempfile::tempdir().unwrap();
    let prefix = cache.path().join("part");
    let split = ["gguf", "split", micro(), prefix.to_str().unwrap(), "--max-tensors", "10"];
    let parts = in_cache(cache.path(), &split).expect(0).out.lines().count();
    assert!(parts > 1);
    let name = format!("part-00001-of-{parts:05}.gguf");
    assert_eq!(names(cache.path()), [name.as_str()]);
    in_cache(cache.path(), &["rm", &name]).expect(0);
    assert_eq!(fs::read_dir(cache.path()).unwrap().count(), 0);
}

#[test]
fn a_model_goes_by_any_of_its_names_and_takes_empty_folders_along() {
    let cache = filled();
    in_cache(cache.path(), &["rm", "smollm2-135m"]).expect(0);
    assert_eq!(names(cache.path()), ["hf/Org/Repo/m.gguf", "hf/Org/Repo/sub/n.gguf"]);
    in_cache(cache.path(), &["rm", "hf/Org/Repo/sub/n.gguf"]).expect(0);
    assert!(
        cache.path().join("hf/Org/Repo/m.gguf").exists() && !cache.path().join("hf/Org/Repo/sub").exists()
    );
    assert_eq!(in_cache(cache.path(), &["rm", "hf:Org/Repo"]).expect(0).out, "");
    let left: Vec<_> = fs::read_dir(cache.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(left, ["notes.txt"]);
    in_cache(cache.path(), &["rm", "hf:Org/Repo"]).refused(1, &["hf:Org/Repo"]);
}

#[test]
fn nothing_outside_the_cache_is_removed() {
    let outside = tempfile::tempdir().unwrap();
    let victim = outside.path().join("victim.gguf");
    fs::write(&victim, "mine").unwrap();
    let cache = outside.path().join("cache");
    fs::create_dir(&cache).unwrap();
    let by_path = victim.to_str().unwrap();
    for name in ["../victim.gguf", by_path, "x/../../victim.gguf", "", ".", "..", "notes.txt"] {
        in_cache(&cache, &["rm", name]).refused(1, &["is not in"]);
    }
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink(outside.path(), cache.join("link")).unwrap();
        in_cache(&cache, &["rm", "link/victim.gguf"]).refused(1, &["is not in"]);
    }
    assert_eq!(fs::read(&victim).unwrap(), b"mine");
    fs::create_dir_all(cache.join("hf/Org/Repo")).unwrap();
    fs::write(cache.join("hf/Org/Repo/refs.json"), r#"{"":["../../../../victim.gguf"]}"#).unwrap();
    in_cache(&cache, &["rm", "hf:Org/Repo"]).refused(1, &["is not in"]);
    assert!(victim.exists());
}
