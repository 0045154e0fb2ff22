//! Embeddings, and what encoders cannot do.

use serde_json::Value as Json;

use crate::support::{encoder, file, json, json_of_input, keys, micro, minfer};

fn vectors(found: &Json) -> Vec<Vec<f64>> {
    let data = found["data"].as_array().unwrap();
    data.iter().map(|d| serde_json::from_value(d["embedding"].clone()).unwrap()).collect()
}

fn length(vector: &[f64]) -> f64 {
    vector.iter().map(|x| x * x).sum::<f64>().sqrt()
}

#[test]
fn embeddings_have_the_form_of_openai() {
    for model in [encoder(), micro()] {
        let found = json(&["embed", model, "a river", "the sea", "--json"]);
        assert_eq!(keys(&found), ["object", "data", "model", "usage"]);
        assert_eq!(found["object"], "list");
        for (index, entry) in found["data"].as_array().unwrap().iter().enumerate() {
            assert_eq!(keys(entry), ["object", "index", "embedding"]);
            assert_eq!((&entry["object"], &entry["index"]), (&"embedding".into(), &index.into()));
        }
        let vectors = vectors(&found);
        assert_eq!(vectors.len(), 2);
        assert!(vectors.iter().all(|v| v.len() == 64 && (length(v) - 1.0).abs() < 1e-5));
        assert_ne!(vectors[0], vectors[1]);
        assert_eq!(found["usage"]["prompt_tokens"], found["usage"]["total_tokens"]);
        assert!(found["usage"]["prompt_tokens"].as_u64().unwrap() > 2);
    }
}

#[test]
fn texts_come_from_arguments_lines_of_a_file_or_of_the_input() {
    let bert = encoder();
    let expected = json(&["embed", bert, "a river", "the sea", "--json"]);
    let (_folder, path) = file("lines", b"a river\r\nthe sea\n");
    assert_eq!(json(&["embed", bert, "-f", &path, "--json"]), expected);
    assert_eq!(json_of_input(&["embed", bert, "--json"], b"a river\nthe sea"), expected);
    // One by one, on one thread, and shown as a line of numbers each.
    let shown = minfer(&["embed", bert, "a river", "the sea", "--parallel", "1", "-t", "1"]).expect(0).out;
    let numbers: Vec<Vec<f64>> =
        shown.lines().map(|line| line.split(' ').map(|x| x.parse().unwrap()).collect()).collect();
    let near = |a: &f64, b: &f64| (a - b).abs() < 1e-7;
    let all = numbers.iter().flatten().zip(vectors(&expected).into_iter().flatten().collect::<Vec<_>>());
    assert!(numbers.len() == 2 && numbers[0].len() == 64 && all.into_iter().all(|(a, b)| near(a, &b)));
}

#[test]
fn flags_say_how_rows_become_a_vector() {
    let bert = encoder();
    let of = |flags: &[&str]| {
        vectors(&json(&[&["embed", bert, "a river in the sea", "--json"], flags].concat())).remove(0)
    };
    // The file says the first token's row.
    assert_eq!(of(&[]), of(&["--pooling", "cls"]));
    assert_ne!(of(&[]), of(&["--pooling", "mean"]));
    assert_ne!(of(&["--pooling", "last"]), of(&["--pooling", "mean"]));
    let raw = of(&["--embd-normalize", "-1"]);
    assert!(length(&raw) > 2.0);
    let largest = of(&["--embd-normalize", "0"]).into_iter().map(f64::abs).fold(0.0, f64::max);
    assert_eq!(largest, 32760.0);
    let cut = of(&["--dimensions", "8"]);
    assert!(cut.len() == 8 && (length(&cut) - 1.0).abs() < 1e-5);
    assert!((cut[0] / cut[7] - raw[0] / raw[7]).abs() < 1e-3);
    assert_eq!(of(&["--verify-memory"]), of(&[]));
}

#[test]
fn what_cannot_be_embedded_is_refused() {
    let bert = encoder();
    minfer(&["embed", bert, "a", "--dimensions", "65"]).refused(1, &["65 dimensions", "have 64"]);
    minfer(&["embed", bert, "a", "--pooling", "rank"]).refused(2, &["expected mean, cls or last"]);
    minfer(&["embed", bert, "a", "--embd-normalize", "-2"]).refused(2, &["expected -1, 0, 1, 2"]);
    minfer(&["embed", bert, "ok", &"a ".repeat(600)]).refused(1, &["text 1 has 602 tokens", "512 positions"]);
    minfer(&["embed", bert, "a b c d", "-c", "4"]).refused(1, &["text 0 has 6 tokens", "4 positions"]);
    minfer(&["embed", bert, "a", "-f", "b"]).refused(2, &["cannot be used with"]);
}

#[test]
fn an_encoder_refuses_what_needs_next_tokens_and_says_what_it_does() {
    let bert = encoder();
    let (_folder, path) = file("text", "the sea ".repeat(300).as_bytes());
    let commands: [&[&str]; 4] = [
        &["run", bert, "hi"],
        &["logits", bert, "--tokens", "1"],
        &["perplexity", bert, &path, "-c", "32"],
        &["bench", bert, "-p", "4", "-n", "2"],
    ];
    for command in commands {
        minfer(command).refused(1, &["bert models", "minfer embed"]);
    }
    assert_eq!(json(&["inspect", bert, "--json"])["runs"], true);
}

#[test]
fn the_plan_of_an_encoder_is_that_of_its_embeddings() {
    let bert = encoder();
    let found = json(&["plan", bert, "--check", "--json"]);
    assert_eq!(
        (&found["settings"]["ctx_size"], &found["settings"]["ubatch_size"]),
        (&512.into(), &512.into())
    );
    // The keys and values of one layer, in F32.
    assert_eq!(found["kv"]["per_token"], 2 * 64 * 4);
    assert_eq!(found["checked"], true);
}
