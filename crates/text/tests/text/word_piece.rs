//! WordPiece against the ids of another tokenizer, and what a vocabulary must have.

use serde::Deserialize;
use std::collections::BTreeMap;
use text::{EncodeOptions, Error, Tokenizer, VocabularyData};

#[derive(Deserialize)]
struct Stored {
    vocabularies: BTreeMap<String, Vocabulary>,
}

#[derive(Deserialize)]
struct Vocabulary {
    /// As the original spells them: further pieces of a word begin with `##`.
    tokens: Vec<String>,
    /// Texts and their ids, without the tokens around them.
    texts: Vec<(String, Vec<u32>)>,
}

impl Vocabulary {
    /// As GGUF files spell them.
    fn spelled(&self) -> Vec<String> {
        let spell = |token: &String| match token.strip_prefix("##") {
            Some(rest) if !rest.is_empty() => rest.to_owned(),
            _ if token.starts_with('[') && token.ends_with(']') && token.len() > 1 => token.clone(),
            _ => format!("\u{2581}{token}"),
        };
        self.tokens.iter().map(spell).collect()
    }

    fn types(&self) -> Vec<i32> {
        (0..self.tokens.len()).map(|id| if id < 5 { 3 } else { 1 }).collect()
    }

    fn tokenizer(&self) -> Tokenizer {
        let (tokens, types) = (self.spelled(), self.types());
        let data = VocabularyData {
            model: "bert",
            tokens: &tokens,
            token_types: Some(&types),
            ..Default::default()
        };
        Tokenizer::new(data).unwrap()
    }
}

fn vocabulary(name: &str) -> Vocabulary {
    let mut stored: Stored = serde_json::from_str(include_str!("../data/word_piece.json")).unwrap();
    stored.vocabularies.remove(name).unwrap()
}

#[test]
fn words_have_the_ids_of_another_tokenizer() {
    for name in ["uncased", "cased"] {
        let vocabulary = vocabulary(name);
        let tokenizer = vocabulary.tokenizer();
        let mut wrong = Vec::new();
        for (text, expected) in &vocabulary.texts {
            let options = EncodeOptions { add_special: false, parse_special: true };
            let ids = tokenizer.encode(text, options).unwrap();
            if ids != *expected {
                wrong.push(format!("{text:?}: {ids:?}, expected {expected:?}"));
            }
        }
        assert!(wrong.is_empty(), "{name}:\n{}", wrong.join("\n"));
    }
}

#[test]
fn texts_begin_with_cls_and_end_with_sep() {
    let vocabulary = vocabulary("uncased");
    let (tokens, types) = (vocabulary.spelled(), vocabulary.types());
    let data =
        VocabularyData { model: "bert", tokens: &tokens, token_types: Some(&types), ..Default::default() };
    let special = EncodeOptions { add_special: true, parse_special: true };
    // By their texts, or by the keys, which go before BOS and EOS.
    let by_text = Tokenizer::new(data).unwrap();
    assert_eq!((by_text.bos(), by_text.eos(), by_text.unk()), (Some(2), Some(3), Some(1)));
    assert_eq!(by_text.encode("", special).unwrap(), [2, 3]);
    let word = by_text.id_of_text("\u{2581}hello").unwrap();
    assert_eq!(by_text.encode("Hello", special).unwrap(), [2, word, 3]);
    let keys = VocabularyData { cls: Some(4), sep: Some(0), bos: Some(2), eos: Some(3), ..data };
    assert_eq!(Tokenizer::new(keys).unwrap().encode("hello", special).unwrap(), [4, word, 0]);
    let bare = VocabularyData { add_bos: Some(false), add_eos: Some(false), ..data };
    assert_eq!(Tokenizer::new(bare).unwrap().encode("hello", special).unwrap(), [word]);
}

#[test]
fn tokens_go_back_to_words_with_spaces_between() {
    let tokenizer = vocabulary("uncased").tokenizer();
    let special = EncodeOptions { add_special: true, parse_special: true };
    let ids = tokenizer.encode("Unaffable world, hello", special).unwrap();
    assert_eq!(tokenizer.decode(&ids, false), "unaffable world , hello");
    assert_eq!(tokenizer.decode(&ids, true), "[CLS]unaffable world , hello[SEP]");
}

#[test]
fn markup_in_what_a_user_wrote_is_text() {
    let tokenizer = vocabulary("uncased").tokenizer();
    let ids = tokenizer.encode("[MASK]", EncodeOptions::default()).unwrap();
    assert_eq!(tokenizer.decode(&ids, true), "[ mask ]");
}

#[test]
fn a_vocabulary_without_an_unknown_token_is_refused() {
    let tokens = ["[CLS]", "[SEP]", "\u{2581}a"];
    let data = VocabularyData { model: "bert", tokens: &tokens, ..Default::default() };
    let error = Tokenizer::new(data).err().unwrap();
    assert_eq!(error, Error::UnknownMissing { model: "bert".to_owned() });
    let data = VocabularyData { unk: Some(3), ..data };
    assert!(matches!(Tokenizer::new(data), Err(Error::IdOutOfRange { .. })));
}

/// A word of many characters that nothing begins is looked through once, and long ones are not looked into.
#[test]
fn long_words_take_no_longer_than_their_characters() {
    let tokenizer = vocabulary("uncased").tokenizer();
    let encode = |text: &str| tokenizer.encode(text, EncodeOptions::default()).unwrap();
    assert_eq!(encode(&"q".repeat(1 << 20)), [1]);
    assert_eq!(encode(&"\u{4E2D}".repeat(1 << 16)).len(), 1 << 16);
    assert_eq!(encode(&"!".repeat(1 << 16)).len(), 1 << 16);
}
