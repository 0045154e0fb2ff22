//! What the README says is supported is what the tables say. `MINFER_BLESS=1` writes it anew.

use std::path::Path;

use minfer::{ARCHITECTURES, Isa, KV_TYPES, PreTokenizer, Tokenizer, weight_types};

const BEGIN: &str = "<!-- support: begin, written by the tests with MINFER_BLESS=1 -->\n";
const END: &str = "<!-- support: end -->";

fn row(what: &str, names: impl IntoIterator<Item = impl std::fmt::Display>) -> String {
    let names: Vec<String> = names.into_iter().map(|name| format!("`{name}`")).collect();
    assert!(!names.is_empty(), "{what}");
    format!("| {what} | {} |\n", names.join(", "))
}

fn matrix() -> String {
    let mut out = String::from("| | names in files and flags |\n|---|---|\n");
    out += &row("architectures", ARCHITECTURES.iter().map(|arch| arch.name));
    out += &row("weights", weight_types());
    out += &row("KV cache", KV_TYPES);
    out += &row("tokenizers", Tokenizer::models());
    out += &row("pre-tokenizers", PreTokenizer::names());
    out += &row("kernels", Isa::ALL);
    out
}

#[test]
fn the_support_matrix_in_the_readme_is_that_of_the_tables() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../README.md");
    let readme = std::fs::read_to_string(&path).unwrap();
    let (before, rest) = readme.split_once(BEGIN).expect("the marker where the matrix begins");
    let (found, after) = rest.split_once(END).expect("the marker where the matrix ends");
    let expected = matrix();
    if std::env::var_os("MINFER_BLESS").is_some() {
        std::fs::write(&path, format!("{before}{BEGIN}{expected}{END}{after}")).unwrap();
        return;
    }
    assert_eq!(found, expected, "write it anew: MINFER_BLESS=1 cargo test -p minfer readme");
}
