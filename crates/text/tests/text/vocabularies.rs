//! Broken vocabularies are errors that say what is broken.

use text::{Tokenizer, VocabularyData};

use crate::small::Small;

fn check(data: VocabularyData, expected: &str) {
    let error = Tokenizer::new(data).err().expect("the vocabulary is broken");
    assert_eq!(error.to_string(), expected);
}

/// A small vocabulary after a change.
fn check_small(change: impl Fn(&mut Small), expected: &str) {
    let mut small = Small::new("gpt-2");
    change(&mut small);
    check(small.data(), expected);
}

#[test]
fn names_that_are_not_ours_are_refused() {
    let small = Small::new("gpt-2");
    check(
        VocabularyData { model: "rwkv", ..small.data() },
        "tokenizer.ggml.model is \"rwkv\"; supported are gpt2, llama, bert",
    );
    let error = Tokenizer::new(VocabularyData { pre: None, ..small.data() }).err().unwrap();
    assert!(matches!(error, text::Error::PreTokenizerMissing { .. }));
    let error = Tokenizer::new(VocabularyData { pre: Some("x"), ..small.data() }).err().unwrap();
    assert!(matches!(error, text::Error::PreTokenizerUnknown { .. }));
}

#[test]
fn an_empty_vocabulary_is_refused() {
    let data = VocabularyData { model: "gpt2", pre: Some("gpt-2"), ..Default::default() };
    check(data, "tokenizer.ggml.tokens is empty; expected at least one token");
}

#[test]
fn tokens_differ_and_spell_bytes() {
    check_small(
        |small| _ = small.add("hello", 1),
        "tokens 271 and 313 are both \"hello\"; expected different texts",
    );
    check_small(
        |small| _ = small.add("two words", 1),
        "token 313, \"two words\", has the character ' ', which names no byte",
    );
}

#[test]
fn types_are_one_a_token_and_known() {
    check_small(
        |small| _ = small.types.pop(),
        "tokenizer.ggml.token_type has 312 entries; expected 313, one a token",
    );
    for wrong in [0, 7, -1] {
        check_small(
            |small| small.types[5] = wrong,
            &format!("token 5 has the type {wrong}; expected 1 to 6"),
        );
    }
    // Without types all tokens are normal, and these are spelled with the alphabet.
    let small = Small::new("gpt-2");
    let data = VocabularyData {
        token_types: None,
        tokens: &&small.tokens[..305],
        bos: None,
        eos: None,
        ..small.data()
    };
    assert_eq!(Tokenizer::new(data).map(|tokenizer| tokenizer.n_vocab()), Ok(305));
}

#[test]
fn merges_join_tokens_and_differ() {
    let add = |merge: &'static str| move |small: &mut Small| small.merges.push(merge.to_owned());
    let malformed =
        |merge: &str| format!("merge 48 is {merge:?}; expected two tokens with one space between");
    for merge in ["ab", "", " a", "a ", "a b c"] {
        check_small(add(merge), &malformed(merge));
    }
    check_small(add("a nosuch"), "merge 48 is \"a nosuch\"; its right part \"nosuch\" is not a token");
    check_small(add("nosuch a"), "merge 48 is \"nosuch a\"; its left part \"nosuch\" is not a token");
    check_small(add("x y"), "merge 48 is \"x y\"; its result \"xy\" is not a token");
    check_small(add("h e"), "merges 2 and 48 are both \"h e\"; expected different merges");
}

#[test]
fn ids_are_in_the_vocabulary() {
    let small = Small::new("gpt-2");
    let data = small.data();
    let check = |data, what: &str| {
        check(data, &format!("{what} is 313; expected less than 313, the number of tokens"));
    };
    let id = Some(313);
    check(VocabularyData { bos: id, ..data }, "tokenizer.ggml.bos_token_id");
    check(VocabularyData { eos: id, ..data }, "tokenizer.ggml.eos_token_id");
    check(VocabularyData { eot: id, ..data }, "tokenizer.ggml.eot_token_id");
    check(VocabularyData { unk: id, ..data }, "tokenizer.ggml.unknown_token_id");
    check(VocabularyData { pad: id, ..data }, "tokenizer.ggml.padding_token_id");
    check(VocabularyData { eog: &[0, 313], ..data }, "a token that ends generation");
}

#[test]
fn what_is_to_be_added_is_named() {
    let small = Small::new("gpt-2");
    check(
        VocabularyData { add_bos: Some(true), bos: None, ..small.data() },
        "tokenizer.ggml.add_bos_token is true and tokenizer.ggml.bos_token_id is missing",
    );
    check(
        VocabularyData { add_eos: Some(true), eos: None, ..small.data() },
        "tokenizer.ggml.add_eos_token is true and tokenizer.ggml.eos_token_id is missing",
    );
    // Where only the pre-tokenizer would add it, it is left out.
    let data = VocabularyData { bos: None, pre: Some("llama-bpe"), ..small.data() };
    assert_eq!(Tokenizer::new(data).map(|tokenizer| tokenizer.add_bos()), Ok(false));
}
