//! Ctrl-C while an answer is made. Linux says when a process catches a signal, so the tests run there.

use std::io::Read;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::Value as Json;

use crate::support::{command, file, micro};

/// An answer that would take minutes.
const ENDLESS: [&str; 9] =
    ["-n", "-1", "--ignore-eos", "-c", "200000", "--rope-freq-scale", "0.01", "--temp", "0"];

fn start(options: &[&str]) -> Child {
    let arguments = [&["run", micro()], options].concat();
    command(&arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

pub fn interrupt(child: &Child) {
    let sent = Command::new("sh").args(["-c", &format!("kill -INT {}", child.id())]).status().unwrap();
    assert!(sent.success());
}

/// Waits until the process catches Ctrl-C.
fn wait_until_caught(child: &Child) {
    let started = Instant::now();
    let catches = || {
        let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
        let mask = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).unwrap().trim();
        // Signal 2 is the second bit.
        u64::from_str_radix(mask, 16).unwrap() & 2 != 0
    };
    while !catches() {
        assert!(started.elapsed() < Duration::from_secs(120), "the answer never began");
        sleep(Duration::from_millis(5));
    }
}

#[test]
fn the_first_interruption_ends_the_answer_and_keeps_what_there_is() {
    let mut child = start(&[&["hi"], &ENDLESS[..]].concat());
    let mut begin = [0; 8];
    child.stdout.as_mut().unwrap().read_exact(&mut begin).unwrap();
    interrupt(&child);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(output.stdout.ends_with(b"\n"));
    assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn an_interrupted_answer_is_whole_json() {
    let child = start(&[&["hi", "--json"], &ENDLESS[..]].concat());
    wait_until_caught(&child);
    interrupt(&child);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130));
    let found: Json = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(found["finish_reason"], "cancelled");
    assert_eq!(found["version"], 1);
    let tokens: Vec<u32> = serde_json::from_value(found["tokens"].clone()).unwrap();
    let model = minfer::Model::load(micro()).unwrap();
    assert_eq!(found["text"], model.tokenizer().decode(&tokens, false));
}

#[test]
fn the_second_interruption_ends_the_process() {
    // One batch that takes seconds: only between batches can an answer end.
    let (_folder, path) = file("long", "word after word ".repeat(5000).as_bytes());
    let mut child = start(&[&["-f", &path, "-ub", "100000", "--json"], &ENDLESS[..]].concat());
    wait_until_caught(&child);
    // Signals of one kind that come before the process looks are one, so that two may not be enough.
    while child.try_wait().unwrap().is_none() {
        interrupt(&child);
        sleep(Duration::from_millis(50));
    }
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130));
    assert!(output.stdout.is_empty(), "no answer: {}", String::from_utf8_lossy(&output.stdout));
}
