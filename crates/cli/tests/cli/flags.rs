//! Where flags may stand, and their other names.

use crate::support::{json, micro, minfer, tiny};

#[test]
fn isa_and_threads_are_taken_before_and_after_the_subcommand() {
    let run = ["logits", micro(), "--tokens", "1,2"];
    // So many threads that the command says that it uses fewer.
    for machine in [["-t", "100000"], ["--threads", "100000"]] {
        for arguments in [[&machine, &run[..]].concat(), [&run[..], &machine].concat()] {
            let ran = minfer(&arguments).expect(0);
            assert!(ran.err.contains("100000 threads asked for"), "{arguments:?}: {:?}", ran.err);
        }
    }
    for arguments in [[&["--isa", "nope"], &run[..]].concat(), [&run[..], &["--isa", "nope"]].concat()] {
        minfer(&arguments).refused(2, &["--isa", "nope", "scalar"]);
    }
    let plain = minfer(&run).expect(0).out;
    assert_eq!(minfer(&[&["--isa", "scalar", "-t", "1"], &run[..]].concat()).expect(0).out, plain);
}

#[test]
fn no_number_of_threads_is_a_mistake() {
    for threads in ["0", "-1", "-7", "1", "64"] {
        minfer(&["logits", micro(), "--tokens", "1", "-t", threads]).expect(0);
    }
}

#[test]
fn single_dash_words_mean_their_long_options() {
    let bytes = |options: &[&str]| {
        let found = json(&[&["run", tiny(), "hi", "-n", "1", "--json"], options].concat());
        let memory = found["memory"].clone();
        (memory["arena_bytes"].as_u64().unwrap(), memory["kv_bytes_committed"].as_u64().unwrap())
    };
    let (plain, small) = (bytes(&[]), bytes(&["--ubatch-size", "4"]));
    assert!(small.0 < plain.0, "{small:?} {plain:?}");
    assert_eq!(bytes(&["-ub", "4"]), small);
    assert_eq!(bytes(&["--ubatch", "4"]), small);
    let keys = bytes(&["--cache-type-k", "f32"]);
    assert!(keys.1 > plain.1);
    assert_eq!(bytes(&["-ctk", "f32"]), keys);
    assert_eq!(bytes(&["-ctv", "f32"]), bytes(&["--cache-type-v", "f32"]));
    assert_eq!(bytes(&["--kv-type", "f32"]), bytes(&["-ctk", "f32", "-ctv", "f32"]));
}

#[test]
fn a_prompt_may_begin_with_a_dash() {
    for text in ["- a list", "-1", "--json", "-ub", "-no-cnv"] {
        let found = json(&["run", micro(), "-p", text, "-no-cnv", "-n", "0", "--json"]);
        let scored = json(&["logits", micro(), "--prompt", text, "--json"]);
        let expected = json(&["tokenize", micro(), "--no-special", "--json", "--", text]);
        assert_eq!(found["prompt_tokens"], expected["tokens"], "{text:?}");
        assert_eq!(scored["tokens"], expected["tokens"], "{text:?}");
    }
}

#[test]
fn any_negative_count_of_tokens_that_llama_cpp_knows_means_until_the_end() {
    let run = |n| {
        let options = ["-n", n, "-c", "40", "--temp", "0", "--json"];
        json(&[&["run", micro(), "hi", "-no-cnv"], &options[..]].concat())["tokens"].clone()
    };
    assert_eq!(run("-1"), run("-2"));
    assert_eq!(run("-1"), run("1000000"));
    minfer(&["run", micro(), "hi", "-n", "-3"]).refused(2, &["--predict", "-3"]);
}

#[test]
fn every_command_explains_itself_with_an_example() {
    for command in
        ["run", "chat", "logits", "tokenize", "perplexity", "inspect", "bench", "pull", "list", "rm", "gguf"]
    {
        let help = minfer(&[command, "--help"]).expect(0).out;
        assert!(help.contains("Example") && help.contains(&format!("minfer {command} ")), "{help}");
    }
    assert!(minfer(&["--help"]).expect(0).out.contains("Example"));
    assert!(minfer(&["--version"]).expect(0).out.starts_with("minfer "));
}

#[test]
fn a_cache_larger_than_the_machine_is_told_and_used_as_far_as_needed() {
    let meminfo = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let total = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:")?.trim().strip_suffix(" kB"));
    if total.is_none_or(|kib| kib.parse::<u64>().unwrap() > 100 << 20) {
        eprintln!("skipped: this system does not tell how much memory it has, or has more than 100 GiB");
        return;
    }
    let bench = ["bench", micro(), "-p", "0", "-n", "1", "-r", "1"];
    let large = ["-b", "2000", "-c", "200000", "--rope-freq-scale", "0.01"];
    let ran = minfer(&[&bench[..], &large].concat()).expect(0);
    assert!(ran.err.contains("more than the") && ran.err.contains("--ctx-size"), "{}", ran.err);
    assert!(minfer(&bench).expect(0).err.is_empty());
}
