//! Conversations, as scripts lead them: each line of standard input is a message or a command.

use std::io::{BufRead, BufReader, Write};
use std::process::{ChildStdin, Stdio};

use serde_json::Value as Json;

use crate::support::{Ran, command, encoder, file, micro, minfer, tiny};

/// Answers of a known length whose text tells tokens apart.
const PLAIN: [&str; 8] = ["-n", "12", "--seed", "7", "--temp", "1", "--ignore-eos", "--json"];

/// Letters one by one, which the tokenizer would take together.
const LETTERS: [&str; 8] = ["-l", "105+50", "-l", "110+50", "--repeat-last-n", "1", "--repeat-penalty", "3"];

/// A conversation of these lines.
fn chat(model: &str, options: &[&str], lines: &[&str]) -> Ran {
    let mut command = command(&[&["chat", model], options].concat());
    let command = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    write(child.stdin.as_mut().unwrap(), lines);
    let output = child.wait_with_output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Ran { code: output.status.code().unwrap(), out: text(output.stdout), err: text(output.stderr) }
}

fn write(input: &mut ChildStdin, lines: &[&str]) {
    for line in lines {
        writeln!(input, "{line}").unwrap();
    }
}

/// What each line of a conversation with `--json` printed.
#[track_caller]
fn answers(model: &str, lines: &[&str]) -> Vec<Json> {
    values(&chat(model, &PLAIN, lines).expect(0).out)
}

fn values(out: &str) -> Vec<Json> {
    out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn usage(value: &Json, key: &str) -> u64 {
    value["usage"][key].as_u64().unwrap()
}

#[test]
fn a_second_turn_computes_only_what_is_new_in_it() {
    for model in [micro(), tiny()] {
        let lines = ["tell me of rivers", "and of mountains", "and of seas", "/stats"];
        let found = values(&chat(model, &[&PLAIN[..], &LETTERS].concat(), &lines).expect(0).out);
        let [first, second, third, stats] = &found[..] else { panic!("{found:?}") };
        let text = first["text"].as_str().unwrap();
        let usual = minfer::Model::load(model).unwrap().tokenize(text, false).unwrap();
        assert!(text.len() == 12 && usual.len() < 12, "{text:?}");
        assert_eq!(usage(first, "cached_tokens"), 0);
        for (before, after) in [(first, second), (second, third)] {
            // All of the prompt before, and of the answer all but its last token.
            let known = usage(before, "prompt_tokens") + usage(before, "completion_tokens") - 1;
            assert_eq!(usage(after, "cached_tokens"), known);
            let computed = usage(after, "prompt_tokens") - known;
            assert_eq!(usage(after, "computed_tokens"), computed);
            assert!((1..known).contains(&computed), "{found:?}");
        }
        assert_eq!((&stats["usage"], &stats["context"]), (&third["usage"], &third["context"]));
        assert_eq!(stats["version"], 1);
        let context = |key: &str| stats["context"][key].as_u64().unwrap();
        assert_eq!(context("used") + context("left"), context("size"));
        assert!(context("used") >= usage(third, "prompt_tokens") + 12, "{stats}");
    }
}

#[test]
fn the_first_answer_is_that_of_run_and_plain_output_is_the_text() {
    let options = &PLAIN[..7];
    let chatted = chat(micro(), &[options, &["--system", "be kind"]].concat(), &["hello there"]).expect(0);
    let ran = minfer(&[&["run", micro(), "hello there", "-sys", "be kind"], options].concat()).expect(0);
    assert_eq!((chatted.out, chatted.err.as_str()), (ran.out, ""));
}

#[test]
fn an_exchange_taken_back_leaves_no_trace_and_the_same_seed_gives_the_same_answer_again() {
    let found = answers(micro(), &["one", "two", "/undo", "three", "/regen", "/stats"]);
    let straight = answers(micro(), &["one", "three"]);
    let text = |value: &Json| value["text"].as_str().unwrap().to_owned();
    assert_eq!(text(&found[2]), text(&straight[1]));
    assert_eq!(text(&found[3]), text(&straight[1]), "the seed is set");
    assert_eq!(found[4]["context"], straight[1]["context"]);
    let other = answers(micro(), &["one", "/set seed 8", "/regen", "/set seed 7", "/regen"]);
    assert_ne!(text(&other[0]), text(&other[1]));
    assert_eq!(text(&other[0]), text(&other[2]));
}

#[test]
fn a_saved_conversation_goes_on_as_if_it_had_never_stopped() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("talk.json");
    let path = path.to_str().unwrap();
    let (save, load) = (format!("/save {path}"), format!("/load {path}"));
    let settings = ["/system be brief", "/set temp 1.5", "/set top-k 0", "/set min-p 0", "/set n-predict 20"];
    let straight = answers(tiny(), &[&settings[..], &["one", "two", &save, "three"]].concat());
    let later = answers(tiny(), &["something else", &load, "/stats", "three"]);
    assert_eq!(later[2]["text"], straight[2]["text"]);
    assert_eq!(later[2]["usage"]["prompt_tokens"], straight[2]["usage"]["prompt_tokens"]);
    assert_eq!(later[2]["context"], straight[2]["context"]);
    let saved: Json = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    assert_eq!((&saved["minfer_chat"], &saved["system"]), (&1.into(), &"be brief".into()));
    assert_eq!(saved["settings"]["n_predict"], 20);
    assert_eq!(saved["messages"][3]["content"], straight[1]["text"]);
}

#[test]
fn a_damaged_or_foreign_file_is_refused_with_the_reason_and_changes_nothing() {
    let whole = r#"{"minfer_chat": 1, "model": "m", "system": null, "settings": {"temp": 1, "top_k": 0, "top_p": 1,
        "min_p": 0, "repeat_penalty": 1, "seed": 1, "n_predict": 3}, "messages": [{"role": "user", "content": "a"},
        {"role": "assistant", "content": "b", "tokens": [4000000000]}]}"#;
    let (_folder, path) = file("whole", whole.as_bytes());
    let ran = chat(micro(), &PLAIN, &[&format!("/load {path}")]).expect(0);
    assert!(ran.err.contains("led with m"), "{}", ran.err);
    let cases = [
        (&whole[..whole.len() / 2], "not a conversation"),
        ("no JSON", "not a conversation"),
        (r#"{"some": "thing"}"#, "minfer_chat"),
        (&whole.replace("\"minfer_chat\": 1", "\"minfer_chat\": 2"), "version 2: expected 1"),
        (&whole.replace("\"temp\": 1", "\"temp\": -1"), "0 or more"),
        (&whole.replace("\"content\": \"b\"", "\"content\": 5"), "string"),
        (&whole.replace("\"role\": \"user\"", "\"role\": \"assistant\""), "messages[0]"),
        (&whole.replace("\"role\": \"assistant\"", "\"role\": \"user\""), "messages[0] has no answer"),
        (&whole.replace("\"role\": \"user\"", "\"role\": \"dog\""), "dog"),
    ];
    let straight = answers(micro(), &["one", "two"]);
    for (text, reason) in cases {
        let (_folder, path) = file("talk", text.as_bytes());
        let ran = chat(micro(), &PLAIN, &["one", &format!("/load {path}"), "two"]).expect(1);
        assert!(ran.err.contains(&path) && ran.err.contains(reason), "{reason}: {}", ran.err);
        assert_eq!(values(&ran.out)[1]["text"], straight[1]["text"], "{reason}");
    }
    let ran = chat(micro(), &PLAIN, &["/load no/such", "/save no/such"]).expect(1);
    assert_eq!(ran.err.matches("no/such").count(), 2, "{}", ran.err);
}

#[test]
fn what_is_no_command_is_told_and_not_sent_to_the_model() {
    let ran = chat(micro(), &PLAIN, &["/dance", "/undo", "/regen", "/set temp -1", "/stats"]).expect(1);
    for words in
        ["/dance", "take back", "answer again", "temp is \"-1\": expected a finite number, 0 or more"]
    {
        assert!(ran.err.contains(words), "{words:?} is missing in {:?}", ran.err);
    }
    let found = values(&ran.out);
    assert_eq!((found.len(), &found[0]["usage"], &found[0]["context"]["used"]), (1, &Json::Null, &0.into()));
    let ran = chat(micro(), &["-n", "3"], &["/help", "/exit", "/dance"]).expect(0);
    assert!(ran.out.contains("/undo") && ran.err.is_empty(), "{:?}", ran.err);
}

#[test]
fn a_full_context_is_told_with_what_can_be_done_and_loses_nothing() {
    let options = [&PLAIN[..], &["-c", "64"]].concat();
    let long = "word ".repeat(60);
    let ran = chat(micro(), &options, &["one", &long, "/stats"]).expect(1);
    for words in ["64 positions", "/undo", "/reset", "-c N"] {
        assert!(ran.err.contains(words), "{words:?} is missing in {:?}", ran.err);
    }
    let found = values(&ran.out);
    assert_eq!(found[0]["context"], found[1]["context"]);
    let ran = chat(micro(), &options, &["/set n-predict -1", "one"]).expect(0);
    assert_eq!(values(&ran.out)[0]["finish_reason"], "context");
    assert!(ran.err.contains("/undo"), "{}", ran.err);
}

#[test]
fn control_tokens_written_in_a_message_are_text() {
    let prompt = |text: &str| usage(&answers(micro(), &[text])[0], "prompt_tokens");
    let (none, control) = (prompt("a"), prompt("a<|im_end|>"));
    assert!(control > none + 2, "{control} tokens, {none} without");
    assert_eq!(control, answers_of_run("a<|im_end|>"));
}

fn answers_of_run(text: &str) -> u64 {
    let ran = minfer(&[&["run", micro(), text], &PLAIN[..]].concat()).expect(0);
    values(&ran.out)[0]["prompt_tokens"].as_array().unwrap().len() as u64
}

#[test]
fn lines_that_end_with_a_backslash_and_a_file_are_one_message() {
    let (_folder, path) = file("message", b"/one\ntwo\n");
    let of_file = chat(micro(), &[&PLAIN[..], &["-f", &path]].concat(), &[]).expect(0);
    let joined = chat(micro(), &PLAIN, &["//one\\", "two"]).expect(0);
    let (of_file, joined) = (values(&of_file.out), values(&joined.out));
    assert_eq!(of_file.len(), 1);
    assert_eq!((&of_file[0]["text"], &of_file[0]["usage"]), (&joined[0]["text"], &joined[0]["usage"]));
    minfer(&["chat", micro(), "-f", "no/such"]).refused(1, &["no/such"]);
}

#[test]
fn a_model_without_a_chat_template_is_refused_with_what_would_serve() {
    let mut bytes = std::fs::read(micro()).unwrap();
    // Another key of the same length.
    let (key, other) = (b"tokenizer.chat_template", b"tokenizer.chat_tempest_");
    let at = bytes.windows(key.len()).position(|window| window == key).unwrap();
    bytes[at..at + key.len()].copy_from_slice(other);
    let (_folder, path) = file("plain.gguf", &bytes);
    minfer(&["chat", &path]).refused(1, &["chat template", "--chat-template", "minfer run"]);
    minfer(&["chat", encoder()]).refused(1, &["bert", "minfer embed"]);
    chat(&path, &["--chat-template", "chatml", "-n", "2"], &["hi"]).expect(0);
}

#[cfg(target_os = "linux")]
#[test]
fn an_interruption_ends_the_answer_and_a_script() {
    let endless = ["-c", "200000", "--rope-freq-scale", "0.01", "--ignore-eos", "--temp", "0"];
    let mut command = command(&[&["chat", micro()], &endless[..]].concat());
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    write(child.stdin.as_mut().unwrap(), &["one", "two"]);
    let mut begin = [0; 8];
    std::io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut begin).unwrap();
    crate::interrupt::interrupt(&child);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(output.stdout.ends_with(b"\n"));
    assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn answers_come_while_the_conversation_goes_on() {
    let mut command = command(&[&["chat", micro()], &PLAIN[..]].concat());
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let (mut input, mut output) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
    for message in ["one", "two"] {
        write(&mut input, &[message]);
        let mut line = String::new();
        output.read_line(&mut line).unwrap();
        assert_eq!(values(&line)[0]["finish_reason"], "length");
    }
    drop(input);
    assert!(child.wait().unwrap().success());
}

/// A conversation of two turns in a file, and the third turn of the process that wrote it.
fn two_turns_and_a_third(model: &str, path: &str) -> Json {
    let save = format!("/save {path}");
    let lines = ["tell me of rivers", "and of mountains", &save, "and of seas"];
    let ran = chat(model, &[&PLAIN[..], &LETTERS].concat(), &lines).expect(0);
    values(&ran.out).pop().unwrap()
}

#[test]
fn another_process_goes_on_with_a_saved_conversation_and_computes_only_what_is_new() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("talk.json");
    let path = path.to_str().unwrap();
    for model in [micro(), tiny()] {
        let straight = two_turns_and_a_third(model, path);
        let load = format!("/load {path}");
        let lines = [&load[..], "and of seas", "/stats"];
        let ran = chat(model, &[&PLAIN[..], &LETTERS].concat(), &lines).expect(0);
        assert_eq!(ran.err, "", "nothing is to be told");
        let [third, stats] = &values(&ran.out)[..] else { panic!("{}", ran.out) };
        assert_eq!(third["text"], straight["text"]);
        assert_eq!(third["usage"], straight["usage"]);
        assert!(usage(third, "cached_tokens") > usage(third, "computed_tokens"), "{third}");
        let total = |key: &str| stats["total"][key].as_u64().unwrap();
        assert_eq!((total("answers"), total("completion_tokens")), (1, 12));
        assert_eq!(total("cached_tokens"), usage(third, "cached_tokens"));
        assert_eq!(total("computed_tokens"), usage(third, "computed_tokens"));
    }
}

#[test]
fn totals_are_those_of_all_answers() {
    let found = answers(micro(), &["/stats", "one", "two", "/regen", "/stats"]);
    assert_eq!(found[0]["total"]["answers"], 0);
    let sum = |key: &str| found[1..4].iter().map(|answer| usage(answer, key)).sum::<u64>();
    for key in ["cached_tokens", "computed_tokens", "completion_tokens"] {
        assert_eq!(found[4]["total"][key], sum(key), "{key}");
    }
    assert_eq!(found[4]["total"]["answers"], 3);
}

#[test]
fn a_cache_that_does_not_serve_costs_time_and_nothing_else_and_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("talk.json");
    let (path, kv) = (path.to_str().unwrap(), folder.path().join("talk.json.kv"));
    let straight = two_turns_and_a_third(micro(), path);
    let whole = std::fs::read(&kv).unwrap();
    let load = format!("/load {path}");
    let go_on = |options: &[&str]| {
        let ran = chat(micro(), &[&PLAIN[..], &LETTERS, options].concat(), &[&load, "and of seas"]).expect(0);
        let third = values(&ran.out).remove(0);
        // Another conversation may begin alike.
        assert!(usage(&third, "cached_tokens") < usage(&straight, "cached_tokens") / 2, "{}", ran.err);
        (third["text"].clone(), ran.err)
    };
    let told = |err: &str, words: &[&str]| {
        for word in words.iter().chain(&["talk.json.kv", "computed with the next message"]) {
            assert!(err.contains(word), "{word:?} is missing in {err:?}");
        }
    };
    // Another type of cache has other answers.
    told(&go_on(&["--kv-type-v", "f32"]).1, &["values of type F16, expected F32"]);

    let mut damaged = whole.clone();
    *damaged.last_mut().unwrap() ^= 1;
    let foreign = {
        let other = folder.path().join("other.json");
        two_turns_and_a_third(tiny(), other.to_str().unwrap());
        std::fs::read(folder.path().join("other.json.kv")).unwrap()
    };
    let of_another_talk = {
        let other = folder.path().join("else.json");
        answers(micro(), &["Something else, at some length.", &format!("/save {}", other.to_str().unwrap())]);
        std::fs::read(folder.path().join("else.json.kv")).unwrap()
    };
    let cases: [(&[u8], &[&str]); 5] = [
        (&damaged, &["is damaged: the cache"]),
        (&whole[..whole.len() - 5], &["cut off"]),
        (&foreign, &["of another model"]),
        (&of_another_talk, &["of which"]),
        (b"no cache", &["is no saved sequence"]),
    ];
    for (bytes, words) in cases {
        std::fs::write(&kv, bytes).unwrap();
        let (text, err) = go_on(&[]);
        assert_eq!(text, straight["text"], "{err}");
        told(&err, words);
    }
    std::fs::remove_file(&kv).unwrap();
    let (text, err) = go_on(&[]);
    assert_eq!(text, straight["text"]);
    told(&err, &["there is no"]);

    // What does not fit is told with both numbers, and so is the next message.
    std::fs::write(&kv, whole).unwrap();
    let ran =
        chat(micro(), &[&PLAIN[..], &LETTERS, &["-c", "64"]].concat(), &[&load, "and of seas"]).expect(1);
    for words in ["positions, and the context has 64", "the context 64 positions", "/undo"] {
        assert!(ran.err.contains(words), "{words:?} is missing in {:?}", ran.err);
    }
}
