//! What changes an answer, and what must not.

use std::collections::HashSet;

use minfer::Isa;

use crate::support::{file, json, json_of_input, micro, minfer, tiny};

const IDS: &str = "5,17,99,3,250,61,8,140,33,72,201,9";

fn hash(model: &str, options: &[&str]) -> String {
    let found = json(&[&["logits", model, "--tokens", IDS, "--json"], options].concat());
    found["hash"].as_str().unwrap().to_owned()
}

#[test]
fn logits_are_the_same_over_threads_batches_and_contexts() {
    for model in [micro(), tiny()] {
        let plain = hash(model, &[]);
        for options in
            [["-t", "1"], ["-t", "2"], ["-ub", "1"], ["-ub", "7"], ["-ub", "512"], ["-c", "12"], ["-c", "0"]]
        {
            assert_eq!(hash(model, &options), plain, "{options:?}");
        }
    }
}

#[test]
fn answers_are_the_same_with_memory_verified_and_a_note_says_what_was() {
    let run = ["run", tiny(), "hi", "-no-cnv", "-n", "5", "--temp", "0", "--json"];
    let verified = minfer(&[&run[..], &["--verify-memory"]].concat()).expect(0);
    assert!(verified.err.contains("memory is as planned"), "{}", verified.err);
    let plain = minfer(&run).expect(0);
    assert_eq!(plain.err, "");
    let tokens = |out: &str| serde_json::from_str::<serde_json::Value>(out).unwrap()["tokens"].clone();
    assert_eq!(tokens(&verified.out), tokens(&plain.out));
    assert_eq!(hash(micro(), &["--verify-memory"]), hash(micro(), &[]));
    for arguments in
        [["bench", micro(), "-p", "4", "-n", "2"], ["logits", micro(), "--tokens", "1", "-t", "1"]]
    {
        let told = minfer(&[&arguments[..], &["--verify-memory"]].concat()).expect(0).err;
        assert!(told.contains("memory is as planned"), "{told}");
    }
}

#[test]
fn logits_are_the_same_with_every_instruction_set_and_a_missing_one_is_named() {
    let plain = hash(tiny(), &[]);
    for isa in Isa::ALL {
        let options = ["--isa", isa.name()];
        match isa.is_available() {
            Ok(()) => assert_eq!(hash(tiny(), &options), plain, "{isa}"),
            Err(missing) => {
                let arguments = [&["logits", tiny(), "--tokens", "1"], &options[..]].concat();
                minfer(&arguments).refused(1, &[isa.name(), missing]);
            }
        }
    }
}

#[test]
fn logits_depend_on_the_cache_types_and_the_reference_switch() {
    let options: [&[&str]; 10] = [
        &["--kv-type", "f16"],
        &["--kv-type", "f32"],
        &["--kv-type", "q8_0"],
        &["-ctk", "q8_0"],
        &["-ctv", "q8_0"],
        &["--reference"],
        &["--kv-type", "bf16"],
        &["--kv-type", "q4_0"],
        &["--kv-type-k", "q4_0", "--kv-type-v", "bf16"],
        &["--kv-type-k", "bf16", "--kv-type-v", "q4_0"],
    ];
    let hashes: Vec<String> = options.iter().map(|options| hash(tiny(), options)).collect();
    assert_eq!(hashes.iter().collect::<HashSet<_>>().len(), options.len(), "{hashes:?}");
    assert_eq!(hash(tiny(), &[]), hashes[0], "f16 is the default");
    assert_eq!(hash(tiny(), &["-ctk", "q8_0", "-ctv", "q8_0"]), hashes[2]);
    assert_eq!(hash(tiny(), &["--kv-type", "q8_0", "-ctv", "f16"]), hashes[3], "its own type goes first");
    assert_eq!(hash(tiny(), &["--cache-type-k", "q4_0", "-ctv", "bf16"]), hashes[8], "llama.cpp's names");
    assert_eq!(hash(tiny(), &["--kv-type", "F32"]), hashes[1], "names in capitals");
    assert_eq!(
        hash(tiny(), &["--reference", "--kv-type", "q8_0"]),
        hashes[5],
        "the yardstick's cache is f32"
    );
}

#[test]
fn perplexity_is_the_same_over_threads_and_batches() {
    let text = "Once upon a time there was a king. ".repeat(8);
    let (_folder, path) = file("text", text.as_bytes());
    let score =
        |options: &[&str]| json(&[&["perplexity", tiny(), &path, "-c", "32", "--json"], options].concat());
    let plain = score(&[]);
    for options in [["-t", "1"], ["-ub", "3"], ["--isa", "scalar"]] {
        assert_eq!(score(&options), plain, "{options:?}");
    }
}

#[test]
fn a_prompt_is_the_same_from_an_argument_an_option_a_file_and_standard_input() {
    let text = "two words\nand a line";
    let with_newline = format!("{text}\n");
    let (_folder, path) = file("prompt", with_newline.as_bytes());
    for chat in [&[][..], &["-no-cnv"]] {
        let tokens = |options: &[&str]| {
            json(&[&["run", micro(), "-n", "0", "--json"], options, chat].concat())["prompt_tokens"].clone()
        };
        let expected = tokens(&[text]);
        assert!(expected.as_array().unwrap().len() > 3);
        assert_eq!(tokens(&["-p", text]), expected);
        assert_eq!(tokens(&["--prompt", text]), expected);
        assert_eq!(tokens(&["-f", &path]), expected);
        let arguments = [&["run", micro(), "-n", "0", "--json"], chat].concat();
        for input in [with_newline.clone(), text.to_owned(), format!("{text}\r\n")] {
            assert_eq!(json_of_input(&arguments, input.as_bytes())["prompt_tokens"], expected, "{input:?}");
        }
    }
}

#[test]
fn a_raw_prompt_is_the_text_and_a_chat_adds_the_template() {
    let tokens = |options: &[&str]| {
        let found = json(&[&["run", micro(), "hi there", "-n", "0", "--json"], options].concat());
        found["prompt_tokens"].as_array().unwrap().clone()
    };
    let raw = tokens(&["-no-cnv"]);
    assert_eq!(raw, *json(&["tokenize", micro(), "hi there", "--json"])["tokens"].as_array().unwrap());
    assert_eq!(tokens(&["--no-chat"]), raw);
    assert_eq!(tokens(&["--no-conversation"]), raw);
    let chat = tokens(&[]);
    assert!(chat.len() > raw.len());
    assert!(tokens(&["-sys", "Be brief."]).len() > chat.len());
}

#[test]
fn a_chat_template_is_a_name_or_a_file_and_a_broken_one_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, source: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, source).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let run = ["run", micro(), "hi there", "-n", "0", "--json"];
    let tokens = |options: &[&str]| json(&[&run, options].concat())["prompt_tokens"].clone();
    let refused = |template, words: &[&str]| {
        minfer(&[&run[..], &["--chat-template", template]].concat()).refused(1, words);
    };
    let (plain, broken) = (file("plain", "{{ messages[0].content }}"), file("broken", "\n{% for m in %}"));
    assert_eq!(tokens(&["--chat-template", &plain]), tokens(&["-no-cnv"]));
    // The model's own template is ChatML.
    assert_eq!(tokens(&["--chat-template", "chatml"]), tokens(&[]));
    refused(&broken, &["chat template", "line 2"]);
    refused("nope", &["nope", "chatml, gemma, llama3, phi3"]);
}

#[test]
fn an_empty_prompt_begins_at_bos_and_is_refused_without_one() {
    for options in [&["-p", ""][..], &[""], &["-p", "", "-no-cnv"], &[]] {
        let arguments = |model| [&["run", model, "-n", "1", "--json"], options].concat();
        assert_eq!(json(&arguments(tiny()))["prompt_tokens"].as_array().unwrap().len(), 1);
        minfer(&arguments(micro())).refused(1, &["the prompt is empty"]);
    }
    minfer(&["logits", micro(), "--prompt", ""]).refused(1, &["the prompt is empty"]);
}

#[test]
fn the_reported_seed_gives_the_text_again() {
    let run = |options: &[&str]| {
        json(&[&["run", micro(), "tell me", "-n", "24", "--temp", "1.5", "--json"], options].concat())
    };
    let (first, second) = (run(&[]), run(&["--seed", "-1"]));
    assert_ne!(first["seed"], second["seed"]);
    assert_ne!(first["tokens"], second["tokens"]);
    let again = run(&["--seed", &first["seed"].to_string(), "-t", "1", "-ub", "5"]);
    assert_eq!((&again["tokens"], &again["text"]), (&first["tokens"], &first["text"]));
    let largest = u64::MAX.to_string();
    assert_eq!(run(&["-s", &largest])["seed"].to_string(), largest);
}

#[test]
fn temperature_zero_is_the_best_token_whatever_the_seed() {
    let run = |options: &[&str]| json(&[&["run", micro(), "tell me", "-n", "8", "--json"], options].concat());
    let best = run(&["--temp", "0", "--seed", "1"]);
    assert_eq!(run(&["--temp", "0", "--seed", "2"])["tokens"], best["tokens"]);
    assert_eq!(run(&["--temperature", "1e-9"])["tokens"], best["tokens"]);
    let prompt = best["prompt_tokens"].as_array().unwrap();
    let ids: Vec<String> = prompt.iter().map(|id| id.to_string()).collect();
    let scored = json(&["logits", micro(), "--tokens", &ids.join(","), "--top", "1", "--json"]);
    assert_eq!(scored["top"][0][0], best["tokens"][0]);
}
