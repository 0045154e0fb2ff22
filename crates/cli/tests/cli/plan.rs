//! `minfer plan`, and runs that a limit holds.

use serde_json::Value as Json;

use crate::support::{file, json, keys, micro, minfer, tiny};

fn number(value: &Json) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("{value}"))
}

#[test]
fn plan_prints_every_term_and_their_sum() {
    let found =
        json(&["plan", tiny(), "-c", "512", "--tokens", "100", "--json", "--memory", "1GiB", "--check"]);
    let expected = [
        "version",
        "model",
        "settings",
        "weights",
        "kv",
        "arenas",
        "scratch",
        "staging",
        "head",
        "other",
        "total",
        "memory",
        "fits",
        "would_fit",
        "checked",
    ];
    assert_eq!(keys(&found), expected);
    assert_eq!(keys(&found["kv"]), ["reserved", "committed", "per_token"]);
    assert_eq!(keys(&found["weights"]), ["mapped", "copied"]);
    let arena = &found["arenas"][0];
    let of_arena = ["device", "bytes", "lower_bound", "proven", "naive", "size_class", "values"];
    assert_eq!(keys(arena), of_arena);
    assert_eq!(arena["proven"], arena["bytes"] == arena["lower_bound"]);
    let (kv, weights) = (&found["kv"], &found["weights"]);
    // A hundred positions lie on four pages of 32.
    assert_eq!(number(&kv["committed"]), 128 * number(&kv["per_token"]));
    assert_eq!(number(&kv["reserved"]), 512 * number(&kv["per_token"]));
    let terms = [&weights["copied"], &kv["committed"], &arena["bytes"], &found["head"], &found["other"]];
    assert_eq!(terms.into_iter().map(number).sum::<u64>(), number(&found["total"]));
    assert_eq!((&found["fits"], &found["memory"]), (&true.into(), &(1u64 << 30).into()));
}

#[test]
fn a_plan_that_does_not_fit_says_what_would_and_that_does() {
    let asked = ["plan", tiny(), "-c", "2048", "--kv-type", "f32", "--json"];
    let total = number(&json(&asked)["total"]);
    let limit = (total - 200_000).to_string();
    let found = json(&[&asked[..], &["--memory", &limit]].concat());
    assert_eq!(found["fits"], false);
    let proposals = found["would_fit"].as_array().unwrap();
    assert!(!proposals.is_empty());
    for proposal in proposals {
        assert!(number(&proposal["total"]) <= number(&found["memory"]), "{proposal}");
        let mut flags = vec!["plan", tiny(), "--json", "--memory", &limit];
        let mut settings = vec![("ctx_size", "2048".to_owned()), ("kv_type", "f32".to_owned())];
        for (flag, value) in proposal["changes"].as_object().unwrap() {
            settings.retain(|(known, _)| known != flag);
            settings.push((flag.as_str(), value.as_str().unwrap().to_owned()));
        }
        let settings: Vec<_> =
            settings.iter().map(|(flag, value)| (format!("--{}", flag.replace('_', "-")), value)).collect();
        flags.extend(settings.iter().flat_map(|(flag, value)| [flag.as_str(), value.as_str()]));
        let taken = json(&flags);
        assert_eq!((&taken["fits"], &taken["total"]), (&true.into(), &proposal["total"]), "{flags:?}");
    }
}

#[test]
fn people_see_terms_a_verdict_and_reasons() {
    let out = minfer(&["plan", micro(), "--explain", "--check", "--memory", "1MiB"]).expect(0).out;
    let words = [
        "KV cache",
        "arena",
        "total",
        "mapped weights",
        "does not fit",
        "MiB asked for",
        "checked",
        "fullest at",
    ];
    for word in words {
        assert!(out.contains(word), "{word} is missing in {out}");
    }
    let out = minfer(&["plan", micro(), "--parallel", "3", "--kv-type-k", "f32"]).expect(0).out;
    assert!(
        out.contains("for each of 3 sequences") && out.contains("f32 and f16") && out.contains("\nfits: "),
        "{out}"
    );
}

#[test]
fn pictures_are_written_and_hold_the_names_of_values() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (svg, html) = (path("plan.svg"), path("plan.html"));
    minfer(&["plan", tiny(), "--svg", &svg, "--html", &html]).expect(0);
    let (svg, html) = (std::fs::read_to_string(svg).unwrap(), std::fs::read_to_string(html).unwrap());
    assert!(svg.starts_with("<svg") && svg.contains("blk.0"));
    assert!(html.starts_with("<!doctype html>") && html.contains("blk.0"));
    minfer(&["plan", tiny(), "--svg", &path("no/such/folder.svg")])
        .refused(1, &["cannot write", "folder.svg"]);
}

#[test]
fn a_run_over_its_limit_is_refused_with_each_term_and_what_would_fit() {
    let run = |more: &[&str]| {
        minfer(&[&["run", tiny(), "hello", "-n", "3", "-c", "2048", "--memory"], more].concat())
    };
    run(&["3MiB"]).refused(1, &["needed", "3.00 MiB allowed", "KV cache", "arenas", "tokenizer"]);
    run(&["many"]).refused(2, &["--memory", "2GiB"]);
    run(&["0"]).refused(2, &["--memory"]);
}

#[test]
fn fit_changes_what_no_flag_says_and_tells() {
    let plan = |flags: &[&str]| number(&json(&[&["plan", tiny(), "--json"], flags].concat())["total"]);
    let limit = (plan(&["-c", "2048"]) - 500_000).to_string();
    let run = |more: &[&str]| {
        let flags = ["run", tiny(), "hello", "-n", "3", "--temp", "0", "--json", "--fit", "--memory", &limit];
        minfer(&[&flags[..], more].concat())
    };
    let free = run(&[]).expect(0);
    assert!(free.err.contains("--fit: --"), "{}", free.err);
    let found: Json = serde_json::from_str(&free.out).unwrap();
    let planned = &found["memory"]["planned"];
    assert!(number(&planned["total"]) <= limit.parse().unwrap(), "{planned}");
    // What is said stays, though then it does not fit.
    run(&["-c", "2048", "-ub", "2048", "--kv-type", "f16"]).refused(1, &["needed", "what would fit"]);
}

#[cfg(target_os = "linux")]
#[test]
fn accepted_runs_stay_below_their_limit() {
    let mut accepted = 0;
    for (n_ctx, ubatch, kv_type) in
        [(256, 64, "f16"), (1024, 512, "q8_0"), (2048, 32, "f32"), (2048, 256, "q4_0")]
    {
        let (n_ctx, ubatch) = (n_ctx.to_string(), ubatch.to_string());
        let settings = ["-c", &n_ctx, "-ub", &ubatch, "--kv-type", kv_type, "--json"];
        let limit = json(&[&["plan", tiny()], &settings[..]].concat())["total"].to_string();
        let prompt = "words ".repeat(45);
        let flags = ["run", tiny(), &prompt, "-n", "40", "--ignore-eos", "--memory", &limit];
        let found = json(&[&flags[..], &settings[..]].concat());
        let measured = number(&found["memory"]["measured"]["resident_anonymous"]);
        assert!(measured <= limit.parse().unwrap(), "{measured} of {limit}: {settings:?}");
        accepted += 1;
    }
    assert_eq!(accepted, 4);
}

/// A model of 8 billion f32 weights, as far as its header goes: the file is 30 GiB long, and the weights are a hole. It
/// takes no room on the disk, but who reads it needs the memory and the time of the real model.
#[cfg(unix)]
fn hollow() -> (tempfile::TempDir, String) {
    let (metadata, tensors) = synthetic::header("qwen3", "qwen3-8b", "F32", None).unwrap();
    let small = synthetic::build("qwen3", "micro", "F32", 1, None).unwrap();
    let small = gguf::GgufFile::from_bytes(&small).unwrap();
    let mut w = gguf::Writer::new();
    for (key, value) in metadata.iter() {
        w.key(key, value.clone()).unwrap();
    }
    for (key, value) in small.metadata().iter().filter(|(key, _)| key.starts_with("tokenizer.")) {
        // Every row of the embedding is a token's.
        let value = match value {
            gguf::Value::Array(gguf::Array::String(known)) if key.ends_with(".tokens") => {
                let more = (known.len()..151_936).map(|id| format!("[{id}]"));
                known.iter().map(str::to_owned).chain(more).collect::<gguf::StrArray>().into()
            }
            gguf::Value::Array(gguf::Array::I32(known)) => {
                let mut types = known.clone();
                types.resize(151_936, 5);
                types.into()
            }
            value => value.clone(),
        };
        w.key(key, value).unwrap();
    }
    for tensor in &tensors {
        w.tensor(tensor.name.as_str(), &tensor.dims, tensor.ty).unwrap();
    }
    let mut header = Vec::new();
    let stop = |_: &gguf::TensorInfo, _: &mut gguf::TensorSink<'_>| Err(std::io::Error::other("a hole"));
    w.write_to(&mut header, stop).unwrap_err();
    let (folder, path) = file("hollow.gguf", &header);
    let bytes: u64 = tensors.iter().map(|t| t.bytes.next_multiple_of(32)).sum();
    let made = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
    made.set_len(header.len() as u64 + bytes).unwrap();
    (folder, path)
}

#[cfg(unix)]
#[test]
fn plans_and_refusals_read_no_weight() {
    let (_folder, path) = hollow();
    let started = std::time::Instant::now();
    let found = json(&["plan", &path, "-c", "40960", "--memory-total", "64GiB", "--check", "--json"]);
    // Keys and values for each position: 36 layers, 8 heads, 128 numbers of two bytes.
    assert_eq!(number(&found["kv"]["committed"]), 40960 * 2 * 36 * 8 * 128 * 2);
    assert!(number(&found["weights"]["mapped"]) > 30 << 30, "{found}");
    assert_eq!((&found["fits"], &found["checked"]), (&true.into(), &true.into()));
    let run = ["run", &path, "hello", "-n", "3", "-c", "40960", "--memory"];
    let words = ["KV cache (1 x 40960 positions", "5.62 GiB", "4.00 GiB allowed", "arenas", "--ctx-size "];
    minfer(&[&run[..], &["4GiB"]].concat()).refused(1, &words);
    let total = ["run", &path, "hello", "-n", "3", "--memory-total", "4GiB"];
    minfer(&total).refused(1, &["mapped weights", "4.00 GiB allowed", "no context, batch or KV type"]);
    assert!(started.elapsed().as_secs() < 60, "{:?}", started.elapsed());
}
