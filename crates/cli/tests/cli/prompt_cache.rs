//! `minfer run --prompt-cache`.

use serde_json::Value as Json;

use crate::support::{json, micro, minfer, tiny};

/// What an answer is, and how many tokens of the prompt were not computed.
fn run(model: &str, prompt: &str, options: &[&str]) -> (Json, usize, u64) {
    let plain = ["run", model, "-no-cnv", "-n", "12", "--temp", "0", "--ignore-eos", "--json", "-p", prompt];
    let found = json(&[&plain[..], options].concat());
    let cached = found["cached_tokens"].as_u64().unwrap();
    (found["tokens"].clone(), found["prompt_tokens"].as_array().unwrap().len(), cached)
}

#[test]
fn a_prompt_that_begins_alike_computes_only_the_rest_and_answers_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("prompt.kv");
    let flags = ["--prompt-cache", path.to_str().unwrap()];
    let ro = [&flags[..], &["--prompt-cache-ro"]].concat();
    let long = "Rivers run to the sea, and the sea is not full. ".repeat(3);
    let longer = format!("{long}To the place");
    for model in [micro(), tiny()] {
        let (alone, n, none) = run(model, &long, &[]);
        assert_eq!(none, 0);
        assert_eq!(run(model, &long, &flags), (alone.clone(), n, 0), "the first writes the file");
        let first = std::fs::read(&path).unwrap();
        assert_eq!(
            run(model, &long, &flags),
            (alone, n, n as u64 - 1),
            "the second has all but the last token"
        );
        assert_eq!(std::fs::read(&path).unwrap(), first, "and has nothing to add");

        let (expected, n_longer, _) = run(model, &longer, &[]);
        let (found, _, cached) = run(model, &longer, &ro);
        assert_eq!(found, expected);
        assert!(cached + 3 >= n as u64 && (cached as usize) < n_longer, "{cached}");
        assert_eq!(std::fs::read(&path).unwrap(), first, "the file is only read");
        assert_eq!(run(model, &longer, &flags).0, expected);
        assert_eq!(run(model, &longer, &ro), (expected, n_longer, n_longer as u64 - 1));
        std::fs::remove_file(&path).unwrap();
    }
}

#[test]
fn a_file_that_does_not_serve_is_told_and_written_anew_and_one_of_somebody_else_is_not_touched() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("prompt.kv");
    let name = path.to_str().unwrap();
    let prompt = "Rivers run to the sea, and the sea is not full.";
    let plain = ["run", micro(), "-no-cnv", "-n", "3", "--temp", "0", "-p", prompt, "--prompt-cache", name];
    let ro = [&plain[..], &["--prompt-cache-ro"]].concat();
    let nothing = minfer(&ro).expect(0);
    assert!(
        nothing.err.contains(name) && nothing.err.contains("all of the prompt is computed"),
        "{}",
        nothing.err
    );
    assert!(!path.exists());
    let first = minfer(&plain).expect(0);
    assert_eq!((&first.out, first.err.as_str()), (&nothing.out, ""));
    let whole = std::fs::read(&path).unwrap();

    let mut damaged = whole.clone();
    damaged[200] ^= 4;
    std::fs::write(&path, &damaged).unwrap();
    let told = minfer(&ro).expect(0);
    assert!(told.err.contains("is damaged: the list of tokens"), "{}", told.err);
    assert_eq!((told.out, std::fs::read(&path).unwrap()), (first.out.clone(), damaged));
    assert_eq!(minfer(&plain).expect(0).out, first.out);
    assert_eq!(std::fs::read(&path).unwrap(), whole, "written anew");

    let letter = b"Dear Sir or Madam";
    std::fs::write(&path, letter).unwrap();
    minfer(&plain).refused(1, &[name, "is no saved sequence", "Dear Sir"]);
    assert_eq!(std::fs::read(&path).unwrap(), letter);
    minfer(&["run", micro(), "hi", "--prompt-cache-ro"]).refused(2, &["--prompt-cache"]);
}
