//! Flags that say how a model is loaded.

use crate::support::{json, micro, minfer, tiny};

fn hash(options: &[&str]) -> String {
    let found = json(&[&["logits", tiny(), "--tokens", "5,17,99,3,250,61,8", "--json"], options].concat());
    found["hash"].as_str().unwrap().to_owned()
}

#[test]
fn where_the_weights_are_changes_no_answer() {
    let plain = hash(&[]);
    for options in [&["--no-mmap"][..], &["--mlock"], &["--no-mmap", "--mlock"]] {
        assert_eq!(hash(options), plain, "{options:?}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn memory_that_may_not_be_locked_is_a_note_and_no_error() {
    let program = env!("CARGO_BIN_EXE_minfer");
    let script = format!("ulimit -l 0 && exec {program} logits {} --tokens 1 --mlock", micro());
    let ran = crate::support::run(std::process::Command::new("sh").args(["-c", &script])).expect(0);
    // Who may lock everything is told nothing.
    assert!(ran.err.is_empty() || ran.err.contains("locked in memory"), "{}", ran.err);
    assert!(ran.out.contains("1 tokens"), "{}", ran.out);
}

#[test]
fn ropes_otherwise_than_the_file_says_change_the_answer() {
    let plain = hash(&[]);
    assert_eq!(hash(&["--rope-scaling", "none"]), plain);
    assert_eq!(hash(&["--rope-freq-base", "0", "--rope-freq-scale", "0"]), plain);
    let linear = hash(&["--rope-freq-scale", "0.5"]);
    assert_eq!(hash(&["--rope-scaling", "linear", "--rope-freq-scale", "0.5"]), linear);
    let yarn = hash(&["--rope-scaling", "yarn", "--rope-freq-scale", "0.5"]);
    let base = hash(&["--rope-freq-base", "1234"]);
    assert!(linear != plain && yarn != plain && base != plain && yarn != linear);
    minfer(&["logits", tiny(), "--tokens", "1", "--rope-scaling", "odd"])
        .refused(2, &["none, linear or yarn"]);
    minfer(&["logits", tiny(), "--tokens", "1", "--rope-freq-base", "-1"]).refused(2, &["--rope-freq-base"]);
}

#[test]
fn a_stretched_context_may_be_longer_than_the_model_was_trained_for() {
    let run = |options: &[&str]| {
        minfer(&[&["run", micro(), "hi", "-n", "1", "-c", "3000"], options].concat()).expect(0)
    };
    assert!(run(&[]).err.contains("trained for: using 1024"));
    assert_eq!(run(&["--rope-freq-scale", "0.25"]).err, "");
}
