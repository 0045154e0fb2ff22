//! Flags that say how an answer is chosen and where it ends.

use serde_json::Value as Json;

use crate::support::{json, micro, minfer, tiny};

fn run(options: &[&str]) -> Json {
    json(
        &[&["run", micro(), "tell me", "-n", "24", "--seed", "7", "--temp", "1.5", "--json"], options]
            .concat(),
    )
}

/// Random models are sure of nothing: all tokens stay, unless a flag says otherwise.
const OPEN: [&str; 6] = ["--top-k", "0", "--top-p", "1", "--min-p", "0"];

#[test]
fn every_sampler_changes_the_answer_and_a_seed_reproduces_it() {
    let often = ["--logit-bias", "40+9", "--logit-bias", "41+9", "--logit-bias", "42+9"];
    let base = [&OPEN[..], &often].concat();
    let plain = run(&base)["tokens"].clone();
    let flags: [&[&str]; 12] = [
        &["--top-k", "2"],
        &["--top-p", "0.3"],
        &["--min-p", "0.9"],
        &["--typical", "0.2"],
        &["--typical-p", "0.2"],
        &["--repeat-penalty", "3"],
        &["--presence-penalty", "9"],
        &["--frequency-penalty", "9"],
        &["--dry-multiplier", "50", "--dry-allowed-length", "1"],
        &["--xtc-probability", "1", "--xtc-threshold", "0.001"],
        &["--logit-bias", "43+9"],
        &["-l", "40-inf"],
    ];
    for flags in flags {
        let without: Vec<&str> = base
            .chunks(2)
            .filter(|pair| pair[0] == "--logit-bias" || pair[0] != flags[0])
            .flatten()
            .copied()
            .collect();
        let all = [&without, flags].concat();
        let answer = run(&all);
        assert_ne!(answer["tokens"], plain, "{flags:?}");
        assert_eq!(
            run(&[&all[..], &["-t", "1", "-ub", "3"]].concat())["tokens"],
            answer["tokens"],
            "{flags:?}"
        );
    }
}

#[test]
fn defaults_are_those_that_people_know() {
    let stated =
        ["--top-k", "40", "--top-p", "0.95", "--min-p", "0.05", "--typical", "1", "--repeat-penalty", "1"];
    assert_eq!(run(&stated)["tokens"], run(&[])["tokens"]);
    assert_ne!(run(&OPEN)["tokens"], run(&[])["tokens"]);
    let help = minfer(&["run", "--help"]).expect(0).out;
    for default in ["[default: 40]", "[default: 0.95]", "[default: 0.05]", "[default: 64]", "[default: 0.8]"]
    {
        assert!(help.contains(default), "{default} is missing in {help}");
    }
}

#[test]
fn sequence_breakers_limit_what_counts_as_a_repetition() {
    let dry = ["--dry-multiplier", "50", "--dry-allowed-length", "1"];
    let often = [&OPEN[..], &["-l", "40+9", "-l", "41+9", "-l", "42+9"], &dry].concat();
    let with = |breakers: &[&str]| run(&[&often[..], breakers].concat())["tokens"].clone();
    let penalized = with(&["--dry-sequence-breaker", "none"]);
    let model = minfer::Model::load(micro()).unwrap();
    let breaker = String::from_utf8(model.tokenizer().piece(40).to_vec()).unwrap();
    assert_ne!(with(&["--dry-sequence-breaker", &breaker, "--dry-sequence-breaker", "\u{1}"]), penalized);
    assert_eq!(with(&["--dry-sequence-breaker", "\u{1}"]), penalized, "never written");
}

#[test]
fn settings_out_of_their_range_are_refused_before_anything_is_read() {
    let refused: [(&str, &str, &str); 14] = [
        ("--top-p", "1.5", "from 0 to 1"),
        ("--min-p", "-0.1", "from 0 to 1"),
        ("--typical", "nan", "from 0 to 1"),
        ("--repeat-penalty", "0", "above 0"),
        ("--presence-penalty", "inf", "finite"),
        ("--frequency-penalty", "x", "invalid"),
        ("--repeat-last-n", "-2", "-1 or more"),
        ("--dry-multiplier", "-1", "0 or more"),
        ("--dry-base", "0.5", "1 or more"),
        ("--dry-penalty-last-n", "-5", "-1 or more"),
        ("--xtc-probability", "2", "from 0 to 1"),
        ("--xtc-threshold", "-1", "from 0 to 1"),
        ("--logit-bias", "5", "with its sign"),
        ("--logit-bias", "5+nan", "finite"),
    ];
    for (flag, value, expected) in refused {
        minfer(&["run", "no-such-file", "hi", flag, value]).refused(2, &[flag, expected]);
    }
    minfer(&["run", micro(), "hi", "--logit-bias", "320+1"]).refused(1, &["320"]);
    minfer(&["run", micro(), "hi", "--stop", ""]).refused(2, &["--stop"]);
    minfer(&["run", micro(), "hi", "--logprobs", "3"]).refused(2, &["--json"]);
}

#[test]
fn stop_texts_end_the_answer_printed_and_in_json() {
    let options = ["run", tiny(), "hi", "-n", "40", "--seed", "3", "--temp", "2", "--ignore-eos"];
    let whole = json(&[&options[..], &["--json"]].concat());
    let text = whole["text"].as_str().unwrap();
    // The characters that end before it, by number and not by byte.
    let stop: String = text.chars().skip(9).take(4).collect();
    let before = &text[..text.find(&stop).unwrap()];
    for flag in ["--stop", "-r", "--reverse-prompt"] {
        let stopped = [&options[..], &["--stop", "never said", flag, &stop]].concat();
        let found = json(&[&stopped[..], &["--json"]].concat());
        assert_eq!((&found["text"], &found["finish_reason"]), (&before.into(), &"stop".into()));
        assert_eq!(minfer(&stopped).expect(0).out, format!("{before}\n"));
    }
    assert_eq!(whole["finish_reason"], "length");
}

#[test]
fn log_probabilities_keep_the_bytes_of_tokens_that_are_parts_of_characters() {
    // A tail byte of UTF-8 is a token of its own in byte-level vocabularies.
    let tail = "\u{e9}".as_bytes()[1];
    let model = minfer::Model::load(micro()).unwrap();
    let id = (0..320).find(|id| model.tokenizer().piece(*id) == [tail]);
    let bias = format!("{}+1000", id.expect("every byte is a token"));
    let found = run(&["-l", &bias, "--logprobs", "2"]);
    assert_eq!(found["text"], "\u{fffd}".repeat(24));
    let tokens = found["logprobs"].as_array().unwrap();
    assert_eq!(tokens.len(), 24);
    for (token, chosen) in tokens.iter().zip(found["tokens"].as_array().unwrap()) {
        assert_eq!((&token["id"], &token["bytes"]), (chosen, &serde_json::json!([tail])));
        assert!(token["logprob"].as_f64().unwrap() < 0.0);
        let top = token["top"].as_array().unwrap();
        assert_eq!(top.len(), 2);
        for other in top {
            assert!(other["logprob"].as_f64().unwrap() >= token["logprob"].as_f64().unwrap());
            assert!(other["id"].is_u64() && other["bytes"].is_array(), "{other}");
        }
    }
    assert!(run(&[]).get("logprobs").is_none(), "only if asked for");
}
