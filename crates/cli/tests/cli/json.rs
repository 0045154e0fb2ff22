//! The shape of what each command prints for programs.

use serde_json::Value as Json;

use crate::support::{file, json, keys, micro, minfer, tiny};

fn ids(value: &Json) -> Vec<u64> {
    value.as_array().unwrap().iter().map(|id| id.as_u64().unwrap()).collect()
}

#[test]
fn run_prints_tokens_text_reason_seed_timings_and_memory() {
    let found = json(&["run", micro(), "hello", "-n", "5", "--temp", "0", "--json"]);
    let expected = [
        "version",
        "prompt_tokens",
        "cached_tokens",
        "tokens",
        "text",
        "finish_reason",
        "seed",
        "timings",
        "memory",
    ];
    assert_eq!(keys(&found), expected);
    assert!(!ids(&found["prompt_tokens"]).is_empty());
    let tokens = ids(&found["tokens"]);
    match found["finish_reason"].as_str().unwrap() {
        "length" => assert_eq!(tokens.len(), 5),
        reason => assert_eq!((reason, tokens.len() <= 5), ("stop", true)),
    }
    assert!(found["text"].is_string() && found["seed"].is_u64());
    let timings = &found["timings"];
    let expected = ["load_ms", "prompt_ms", "prompt_tokens_per_s", "first_token_ms", "decode_tokens_per_s"];
    assert_eq!(keys(timings), expected);
    assert!(expected.iter().all(|key| timings[key].as_f64().unwrap() > 0.0), "{timings}");
    let memory = &found["memory"];
    assert_eq!(keys(memory), ["arena_bytes", "kv_bytes_committed", "weights_bytes", "planned", "measured"]);
    assert!(keys(memory)[..3].iter().all(|key| memory[*key].as_u64().unwrap() > 0), "{memory}");
    let planned = &memory["planned"];
    assert_eq!(planned["kv"]["committed"], memory["kv_bytes_committed"]);
    assert_eq!(planned["arenas"][0]["bytes"], memory["arena_bytes"]);
    #[cfg(target_os = "linux")]
    assert!(memory["measured"]["resident_anonymous"].as_u64().unwrap() > 100_000, "{memory}");
}

#[test]
fn run_without_tokens_prints_the_same_keys_and_no_first_token() {
    let found = json(&["run", micro(), "hello", "-n", "0", "--json"]);
    assert_eq!(found["tokens"], Json::Array(vec![]));
    assert_eq!((&found["text"], &found["finish_reason"]), (&"".into(), &"length".into()));
    assert_eq!(found["timings"]["first_token_ms"], Json::Null);
}

#[test]
fn run_ends_with_context_when_the_context_is_full() {
    // Some answer out of a few does not end before.
    let full = (0..8).any(|seed| {
        let seed = seed.to_string();
        let found = json(&["run", micro(), "hi", "-no-cnv", "-c", "24", "--seed", &seed, "--json"]);
        let tokens = ids(&found["prompt_tokens"]).len() + ids(&found["tokens"]).len();
        assert!(tokens <= 25, "{tokens}");
        found["finish_reason"] == "context"
    });
    assert!(full);
}

#[test]
fn run_for_people_prints_the_text_and_a_newline() {
    let options = ["run", micro(), "hello", "-n", "8", "--temp", "0"];
    let text = json(&[&options[..], &["--json"]].concat())["text"].as_str().unwrap().to_owned();
    assert_eq!(minfer(&options).expect(0).out, format!("{text}\n"));
}

#[test]
fn logits_prints_tokens_nll_best_ids_and_hash() {
    let found = json(&["logits", tiny(), "--prompt", "the cat", "--top", "3", "--json"]);
    assert_eq!(keys(&found), ["version", "tokens", "nll_sum", "top", "hash"]);
    assert!(ids(&found["tokens"]).len() > 2 && found["nll_sum"].as_f64().unwrap() > 0.0);
    let best: Vec<(u64, f64)> = serde_json::from_value(found["top"].clone()).unwrap();
    assert_eq!(best.len(), 3);
    assert!(best.is_sorted_by(|a, b| a.1 >= b.1), "{best:?}");
    let hash = found["hash"].as_str().unwrap();
    assert!(hash.len() == 16 && hash.chars().all(|c| c.is_ascii_hexdigit()), "{hash}");
}

#[test]
fn logits_of_the_tokens_of_a_text_are_those_of_the_text() {
    let of_text = json(&["logits", tiny(), "--prompt", "the cat", "--json"]);
    let list = ids(&of_text["tokens"]).iter().map(u64::to_string).collect::<Vec<_>>();
    for separator in [",", ", "] {
        let of_ids = json(&["logits", tiny(), "--tokens", &list.join(separator), "--json"]);
        assert_eq!(of_ids, of_text);
    }
}

#[test]
fn tokenize_prints_as_many_pieces_as_tokens_and_the_pieces_are_the_text() {
    let text = "Hello, wörld 🙂 <|eot_id|>";
    let found = json(&["tokenize", tiny(), text, "--no-special", "--json"]);
    assert_eq!(keys(&found), ["version", "tokens", "pieces"]);
    let pieces: Vec<String> = serde_json::from_value(found["pieces"].clone()).unwrap();
    assert_eq!(pieces.len(), ids(&found["tokens"]).len());
    // Random vocabularies cut characters; what is left whole is there.
    assert!(pieces.concat().starts_with("Hello, w") && pieces.concat().ends_with("<|eot_id|>"));
    let special = json(&["tokenize", tiny(), text, "--json"]);
    assert!(ids(&special["tokens"]).len() < ids(&found["tokens"]).len());
    assert_eq!(special["pieces"].as_array().unwrap().last().unwrap(), "<|eot_id|>");
    let nothing = json(&["tokenize", micro(), "", "--json"]);
    assert_eq!(nothing, serde_json::json!({"version": 1, "tokens": [], "pieces": []}));
}

#[test]
fn perplexity_prints_scored_tokens_their_nll_and_its_exponential() {
    let text = "The quick brown fox jumps over the lazy dog. ".repeat(8);
    let (_folder, path) = file("text", text.as_bytes());
    let found = json(&["perplexity", tiny(), &path, "-c", "32", "--json"]);
    assert_eq!(keys(&found), ["version", "tokens", "nll_sum", "ppl"]);
    let tokens = found["tokens"].as_u64().unwrap();
    // Of each window the second half is scored but for its first token.
    assert!(tokens > 15 && tokens.is_multiple_of(15), "{tokens}");
    let ppl = (found["nll_sum"].as_f64().unwrap() / tokens as f64).exp();
    assert!((found["ppl"].as_f64().unwrap() / ppl - 1.0).abs() < 1e-9);
    assert_eq!(json(&["perplexity", tiny(), "-f", &path, "-c", "32", "--json"]), found);
}

#[test]
fn bench_names_tests_as_its_readers_expect() {
    let options = ["-p", "8,0", "-n", "3", "-d", "0,5", "-r", "3", "--json"];
    let found = json(&[&["bench", micro()], &options[..]].concat());
    let rows = found.as_array().unwrap();
    let names: Vec<&str> = rows.iter().map(|row| row["test"].as_str().unwrap()).collect();
    assert_eq!(names, ["pp8", "tg3", "pp8@5", "tg3@5"]);
    for row in rows {
        assert_eq!(keys(row), ["test", "tokens_per_s", "all", "memory"]);
        let mut all: Vec<f64> = serde_json::from_value(row["all"].clone()).unwrap();
        all.sort_by(f64::total_cmp);
        assert_eq!((all.len(), row["tokens_per_s"].as_f64().unwrap()), (3, all[1]));
        assert!(all[0] > 0.0);
    }
    let one_kind = json(&["bench", micro(), "-p", "0", "-n", "2", "-r", "1", "--json"]);
    assert_eq!((one_kind.as_array().unwrap().len(), &one_kind[0]["test"]), (1, &"tg2".into()));
}

#[test]
fn inspect_prints_what_is_in_a_model() {
    let found = json(&["inspect", tiny(), "--json"]);
    assert_eq!((&found["architecture"], &found["runs"]), (&"llama".into(), &true.into()));
    assert_eq!((&found["why_not"], &found["gguf_version"]), (&Json::Null, &3.into()));
    assert_eq!(found["metadata"]["llama.block_count"], 2);
    let tensors = found["tensors"].as_array().unwrap();
    assert!(tensors.iter().any(|t| t["name"] == "token_embd.weight" && t["type"] == "Q8_0"));
    let counted: u64 =
        found["types"].as_object().unwrap().values().map(|t| t["tensors"].as_u64().unwrap()).sum();
    assert_eq!(counted, tensors.len() as u64);
}

#[test]
fn every_object_says_which_version_of_the_format_it_is() {
    let text = "Once upon a time there was a king. ".repeat(8);
    let (_folder, path) = file("text", text.as_bytes());
    let commands: [&[&str]; 5] = [
        &["run", micro(), "hi", "-n", "1"],
        &["logits", micro(), "--tokens", "1"],
        &["tokenize", micro(), "hi"],
        &["perplexity", tiny(), &path, "-c", "32"],
        &["inspect", micro()],
    ];
    for command in commands {
        let found = json(&[command, &["--json"]].concat());
        assert_eq!((keys(&found)[0], &found["version"]), ("version", &1.into()), "{command:?}");
    }
}

#[test]
fn tables_for_people_name_what_they_show() {
    let shows = |arguments: &[&str], words: &[&str]| {
        let out = minfer(arguments).expect(0).out;
        assert!(words.iter().all(|word| out.contains(word)), "{out}");
    };
    shows(&["inspect", micro()], &["qwen2", "token_embd.weight", "general.architecture", "F32"]);
    let bench = ["bench", micro(), "-p", "4", "-n", "2", "-r", "1"];
    shows(&bench, &["tokens/s", "\npp4 ", "\ntg2 "]);
    shows(&[&bench[..], &["-o", "md", "-b", "1,3"]].concat(), &["| tokens/s |", "| pp4 |", "| tg2x3 |"]);
    shows(&[&bench[..], &["-o", "csv"]].concat(), &["test,tokens/s,", "\npp4,"]);
    shows(&[&bench[..], &["--profile"]].concat(), &["tg2, one run", "attention", "GB/s"]);
    shows(&["tokenize", micro(), "<|im_end|>"], &["\"<|im_end|>\""]);
    shows(&["logits", micro(), "--tokens", "1,2"], &["2 tokens", "hash"]);
}

#[test]
fn a_profile_counts_the_bytes_and_operations_of_each_token() {
    let found = json(&["bench", tiny(), "-p", "0", "-n", "4", "-r", "1", "--profile", "--json"]);
    let rows = found[0]["profile"].as_array().unwrap();
    let of = |name: &str, key: &str| -> u64 {
        let named = rows.iter().filter(|row| row["operation"].as_str().unwrap().starts_with(name));
        named.map(|row| row[key].as_u64().unwrap()).sum()
    };
    // Every weight that is multiplied is read once a token: two operations an element, and 34 bytes for 32.
    let elements = of("mat_mul", "operations") / 2;
    let bytes = of("mat_mul", "bytes");
    assert!(elements > 1_000_000 && elements.is_multiple_of(4), "{elements}");
    assert!(bytes > elements * 34 / 32 && bytes < elements * 36 / 32, "{bytes} bytes, {elements} elements");
    assert!(of("attention", "operations") > 0 && of("attention", "bytes") > 0);
    assert!(
        rows.iter().all(|row| row["seconds"].as_f64().unwrap() > 0.0 && row["calls"].as_u64().unwrap() > 0)
    );
}
