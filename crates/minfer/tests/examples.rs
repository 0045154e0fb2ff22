//! The examples run, and say what they are to say. `cargo test -p minfer` builds them; without them this is skipped.

use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// What an example prints of a small model with these arguments and this input.
fn output(name: &str, (arch, preset): (&str, &str), arguments: &[&str], input: &str) -> Option<String> {
    let built = std::env::current_exe().unwrap();
    let example = built.parent().unwrap().with_file_name("examples").join(name);
    let example = example.with_extension(std::env::consts::EXE_EXTENSION);
    if !example.exists() {
        println!("skipped: {} is not built", example.display());
        return None;
    }
    let folder = tempfile::tempdir().unwrap();
    let model: PathBuf = folder.path().join("model.gguf");
    std::fs::write(&model, synthetic::build(arch, preset, "Q8_0", 1, None).unwrap()).unwrap();
    let mut command = Command::new(example);
    command.arg(&model).args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{name}: {:?}", output.status);
    Some(String::from_utf8(output.stdout).unwrap())
}

const LLAMA: (&str, &str) = ("llama", "tiny");

#[test]
fn generate_says_why_the_answer_ended() {
    let Some(out) = output("generate", LLAMA, &["The capital of France is"], "") else { return };
    assert!(out.ends_with("[length]\n") || out.ends_with("[stop]\n"), "{out}");
}

#[test]
fn chat_knows_the_first_turn_in_the_second() {
    let Some(out) = output("chat", LLAMA, &[], "Name a river.\nAnd its length?\n") else { return };
    let known: Vec<&str> = out.lines().filter(|line| line.ends_with(" tokens were known]")).collect();
    let [first, second] = known[..] else { panic!("{out}") };
    assert!(first.starts_with("[0 of ") && !second.starts_with("[0 of "), "{out}");
}

#[test]
fn embed_puts_a_text_beside_itself() {
    for model in [LLAMA, ("bert", "micro")] {
        let Some(out) = output("embed", model, &["a river", "a stream", "a river"], "") else { return };
        let lines: Vec<&str> = out.lines().collect();
        assert_eq!((lines[0], lines[2], lines.len()), ("1.000  a river", "1.000  a river", 3), "{out}");
        assert!(!lines[1].starts_with("1.000"), "{out}");
    }
}

#[test]
fn constrained_gives_json_of_the_schema() {
    let Some(out) = output("constrained", LLAMA, &["The Nile: "], "") else { return };
    let (json, reason) = out.trim_end().rsplit_once('\n').unwrap();
    assert_eq!(reason, "[stop]");
    let found: serde_json::Value = serde_json::from_str(json).unwrap();
    assert!(found["river"].is_boolean() && found["length"].is_string(), "{json}");
}

#[test]
fn plan_tells_the_sum_and_what_would_hold() {
    let Some(out) = output("plan", LLAMA, &["1024"], "") else { return };
    for words in ["KV cache", "in all", "a position takes"] {
        assert!(out.contains(words), "{words:?} is missing in {out}");
    }
}

#[test]
fn engine_answers_all_and_cancels_the_last() {
    let prompts = ["One river", "Two rivers", "Three rivers"];
    let Some(out) = output("engine", LLAMA, &prompts, "") else { return };
    let line =
        |number: usize| out.lines().find(|line| line.starts_with(&format!("request {number}: "))).unwrap();
    assert!(line(0).contains("[length, ") && line(1).contains("[length, "), "{out}");
    assert!(line(2).contains("[cancelled, ") || line(2).contains("[length, "), "{out}");
    assert!(out.ends_with(" tokens computed\n"), "{out}");
}
