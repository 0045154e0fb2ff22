//! What is refused, with which code, and what the message says.

use std::process::Stdio;

use crate::support::{command, file, micro, minfer, run, tiny};

#[test]
fn a_wrong_command_line_ends_with_2_and_names_the_flag() {
    let cases: [(&[&str], &[&str]); 18] = [
        (&[], &["Usage"]),
        (&["dance"], &["dance"]),
        (&["run"], &["MODEL"]),
        (&["run", micro(), "hi", "--nope"], &["--nope"]),
        (&["run", micro(), "hi", "-p", "ho"], &["PROMPT", "--prompt"]),
        (&["run", micro(), "-p", "hi", "-f", "x"], &["--prompt", "--file"]),
        (&["run", micro(), "hi", "-ub", "0"], &["--ubatch-size", "1 or more"]),
        (&["run", micro(), "hi", "--kv-type", "q4"], &["--kv-type", "q4", "f16, f32, bf16, q8_0, q4_0"]),
        (&["run", micro(), "hi", "-t", "x"], &["--threads"]),
        (&["run", micro(), "hi", "-c", "-5"], &["-5"]),
        (&["run", micro(), "hi", "--seed", "-2"], &["--seed", "-2", "expected -1 or"]),
        (&["run", micro(), "hi", "--seed", "18446744073709551616"], &["--seed", "up to"]),
        (&["logits", micro()], &["--prompt", "--tokens"]),
        (&["logits", micro(), "--tokens", ""], &["--tokens", "token ids"]),
        (&["logits", micro(), "--tokens", "1,,2"], &["--tokens", "token ids"]),
        (&["logits", micro(), "--prompt", "a", "--tokens", "1"], &["--prompt", "--tokens"]),
        (&["bench", micro(), "-p", "0", "-n", "0"], &["nothing to measure"]),
        (&["bench", micro(), "-r", "0"], &["--repetitions"]),
    ];
    for (arguments, words) in cases {
        minfer(arguments).refused(2, words);
    }
}

#[test]
fn a_temperature_that_is_negative_or_no_number_is_refused_before_anything_is_read() {
    for temperature in ["-1", "nan", "inf", "-0.5", "hot"] {
        let words = ["--temp", temperature, "expected a finite number, 0 or more"];
        minfer(&["run", "no-such-file", "hi", "--temp", temperature]).refused(2, &words);
    }
}

#[test]
fn damaged_and_missing_models_end_with_1_and_name_the_file() {
    let whole = std::fs::read(tiny()).unwrap();
    let mut magic = whole.clone();
    magic[0] = b'X';
    let damaged: [(&[u8], &str); 4] = [
        (&whole[..whole.len() / 2], "half"),
        (&whole[..100], "head"),
        (&magic, "magic"),
        (b"\xff\xfe no model", "text"),
    ];
    for (bytes, name) in damaged {
        let (_folder, path) = file(name, bytes);
        minfer(&["run", &path, "hi", "--json"]).refused(1, &[&path]);
        minfer(&["inspect", &path, "--json"]).refused(1, &[&path]);
    }
    let (folder, empty) = file("empty", b"");
    minfer(&["bench", &empty]).refused(1, &[&empty]);
    let folder = folder.path().to_str().unwrap();
    minfer(&["tokenize", folder, "hi"]).refused(1, &[folder]);
    minfer(&["run", "no/such.gguf", "hi"]).refused(1, &["no/such.gguf", "smollm2-135m"]);
    minfer(&["run", "", "hi"]).refused(1, &["\"\"", "smollm2-135m"]);
}

#[test]
fn token_ids_outside_the_vocabulary_are_named_with_their_place() {
    let refused =
        |ids, words: &[&str]| minfer(&["logits", micro(), "--json", "--tokens", ids]).refused(1, words);
    refused("-1,2", &["number 0", "-1"]);
    refused("1,320", &["number 1", "320"]);
    refused("1,2,2147483648", &["number 2", "2147483648"]);
    refused("4294967296", &["number 0", "4294967296"]);
}

#[test]
fn what_does_not_fit_the_context_is_refused_with_both_numbers() {
    let long = "word ".repeat(40);
    minfer(&["run", micro(), "-p", &long, "-c", "16"]).refused(1, &["16 positions"]);
    minfer(&["logits", micro(), "--prompt", &long, "-c", "16"]).refused(1, &["16 positions"]);
    minfer(&["bench", micro(), "-p", "2000"]).refused(1, &["2000", "1024"]);
    let most = u64::MAX.to_string();
    minfer(&["bench", micro(), "-p", &most, "-d", "1"]).refused(1, &["1024"]);
    let ran = minfer(&["run", micro(), "hi", "-n", "1", "-c", &most]).expect(0);
    assert!(ran.err.contains("trained for: using 1024"), "{}", ran.err);
}

#[test]
fn a_cache_type_that_the_heads_do_not_fit_is_refused() {
    for name in ["q8_0", "q4_0"] {
        let kind = name.to_uppercase();
        let refused = |option, named: &str| {
            minfer(&["run", micro(), "hi", option, name]).refused(1, &[named, &kind, "32", "16"]);
        };
        refused("--kv-type", "--kv-type-k");
        refused("--kv-type-k", "--kv-type-k");
        refused("-ctv", "--kv-type-v");
    }
}

#[test]
fn texts_that_cannot_be_read_or_are_too_short_are_refused() {
    let (_folder, path) = file("text", b"short");
    minfer(&["perplexity", micro(), &path]).refused(1, &["512", "1024"]);
    let (_folder, path) = file("bytes", b"\xff\xfe");
    minfer(&["perplexity", micro(), &path]).refused(1, &[&path, "UTF-8"]);
    minfer(&["run", micro(), "-f", &path]).refused(1, &[&path, "UTF-8"]);
    minfer(&["run", micro(), "-f", "no/such"]).refused(1, &["no/such"]);
}

#[test]
fn a_reader_that_leaves_is_no_error() {
    for arguments in
        [&["run", micro(), "hi", "-n", "100"][..], &["inspect", micro()], &["bench", micro(), "-r", "1"]]
    {
        let mut child = command(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!((output.status.code(), said.as_str()), (Some(0), ""), "{arguments:?}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_an_error() {
    for arguments in [&["run", micro(), "hi", "-n", "3"][..], &["inspect", micro(), "--json"]] {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        run(command(arguments).stdout(full)).refused(1, &["standard output"]);
    }
}

#[test]
fn a_chat_that_the_template_refuses_ends_with_the_text_of_the_template() {
    let source = "{% for m in messages %}{% if m.role == 'system' %}{{ raise_exception('System role not supported') }}{% endif %}[{{ m.role }}]{{ m.content }}{% endfor %}";
    let (_folder, path) = file("template", source.as_bytes());
    let options = ["-n", "1", "--chat-template", &path];
    let words = ["System role not supported", "messages[0]"];
    minfer(&[&["run", micro(), "hi", "-sys", "Be brief."], &options[..]].concat()).refused(1, &words);
    minfer(&[&["run", micro(), "hi"], &options[..]].concat()).expect(0);
    let deep = "{% set ns = namespace(l=[]) %}{% for i in range(100000) %}{% set ns.l = [ns.l] %}{% endfor %}{{ ns.l }}";
    let (_folder, path) = file("deep", deep.as_bytes());
    minfer(&["run", micro(), "hi", "--chat-template", &path]).refused(1, &["too deep", "line 1"]);
    let (_folder, path) = file("empty", b"");
    minfer(&["run", micro(), "hi", "--chat-template", &path]).refused(1, &["the prompt is empty"]);
}
