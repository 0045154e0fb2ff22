use arbtest::arbtest;
use serde_json::json;
use text::{ChatTemplate, EncodeOptions, Error, RenderOptions, Tokenizer, VocabularyData};

use crate::small_spm::SmallSpm;

const PLAIN: EncodeOptions = EncodeOptions { add_special: false, parse_special: false };
const PARSED: EncodeOptions = EncodeOptions { add_special: false, parse_special: true };
const SPECIAL: EncodeOptions = EncodeOptions { add_special: true, parse_special: true };

/// The spellings of the tokens of a text, with `·` between.
fn pieces(tokenizer: &Tokenizer, text: &str, options: EncodeOptions) -> String {
    let ids = tokenizer.encode(text, options).unwrap();
    ids.iter().map(|&id| tokenizer.token_text(id)).collect::<Vec<_>>().join("·")
}

fn without_prefix() -> SmallSpm {
    SmallSpm { add_space_prefix: Some(false), ..SmallSpm::new() }
}

#[test]
fn the_highest_score_is_joined_first_and_the_leftmost_among_equals() {
    let tokenizer = without_prefix().tokenizer();
    let check = |text, expected: &str| assert_eq!(pieces(&tokenizer, text, PLAIN), expected, "{text}");
    check("", "");
    check("hello", "hello");
    check("hello world", "hello·▁world");
    check("worldhello", "w·or·ld·hello");
    check("abc", "ab·c");
    check("bcbc", "bc·bc");
    check("aaaaa", "aaa·aa");
    check("aaa", "aaa");
    check("é中国", "é中·国");
    check("usus us", "usus·▁·us");
}

#[test]
fn what_is_no_token_is_spelled_in_bytes() {
    let tokenizer = without_prefix().tokenizer();
    let check = |text, expected: &str| assert_eq!(pieces(&tokenizer, text, PLAIN), expected, "{text}");
    check("q", "<0x71>");
    check("a€b", "a·<0xE2>·<0x82>·<0xAC>·b");
    check("\n", "<0x0A>");
    // A place without a meaning is not what text becomes, and the name of a byte is text.
    check("ca", "c·a");
    check("<0x41>", "<·<0x30>·x·<0x34>·<0x31>·>");
    let id = tokenizer.id_of_text("<0x0A>").unwrap();
    assert_eq!(tokenizer.piece(id), b"\n");
}

#[test]
fn a_byte_without_a_token_is_unknown_or_an_error_that_says_where() {
    let mut small = SmallSpm::new();
    small.remove("<0x82>");
    let error = small.tokenizer().encode("the hello €!", PLAIN);
    // The byte is the second one of its character.
    assert_eq!(error, Err(Error::NoTokenForByte { byte: 0x82, offset: 11 }));
    assert_eq!(small.tokenizer().encode("€", PLAIN), Err(Error::NoTokenForByte { byte: 0x82, offset: 1 }));
    let data = VocabularyData { unk: Some(small.id("<unk>")), ..small.data() };
    let tokenizer = Tokenizer::new(data).unwrap();
    assert_eq!(pieces(&tokenizer, "the €€", PLAIN), "▁the·▁·<unk>·<unk>");
}

#[test]
fn text_begins_with_a_space_that_was_not_written_unless_the_file_says_no() {
    let tokenizer = SmallSpm::new().tokenizer();
    let check = |text, expected: &str| {
        assert_eq!(pieces(&tokenizer, text, PARSED), expected, "{text}");
    };
    check("", "");
    check("hello", "▁hello");
    check(" hello", "▁·▁hello");
    check(" ", "▁▁");
    // After each special token again.
    check("<s>hello<tool>the", "<s>·▁hello·<tool>·▁the");
    check("<s><tool>", "<s>·<tool>");
    assert!(tokenizer.adds_space_prefix());
    let tokenizer = without_prefix().tokenizer();
    assert_eq!(pieces(&tokenizer, "<s>hello hello<tool>the", PARSED), "<s>·hello·▁hello·<tool>·t·he");
    assert!(!tokenizer.adds_space_prefix());
}

#[test]
fn a_space_apart_is_a_word_of_its_own() {
    let mut small = SmallSpm::new();
    small.remove("▁▁");
    small.remove("▁▁▁▁");
    let tokenizer = small.tokenizer();
    assert_eq!(pieces(&tokenizer, " hello", PLAIN), "▁·▁hello");
    assert_eq!(pieces(&tokenizer, " ", PLAIN), "▁·▁");
}

#[test]
fn decoding_leaves_out_the_space_that_encoding_added() {
    let small = SmallSpm::new();
    let tokenizer = small.tokenizer();
    let check = |text: &str, special: bool, expected: &str| {
        let ids = tokenizer.encode(text, SPECIAL).unwrap();
        assert_eq!(tokenizer.decode(&ids, special), expected);
    };
    check("hello world", false, "hello world");
    check("hello world", true, "<s>hello world");
    check(" hello", false, " hello");
    check("q", false, "q");
    check("", false, "");
    // A token by itself keeps its space, and so does one after the first.
    assert_eq!(tokenizer.piece(small.id("▁world")), b" world");
    assert_eq!(tokenizer.decode(&[small.id("hello"), small.id("▁world")], false), "hello world");
    assert_eq!(tokenizer.decode(&[small.id("<tool>"), small.id("▁world")], false), "<tool> world");
    let ids = [small.id("▁world")];
    assert_eq!(without_prefix().tokenizer().decode(&ids, false), " world");
}

#[test]
fn every_text_decodes_to_itself() {
    for add_space_prefix in [None, Some(true), Some(false)] {
        let tokenizer = SmallSpm { add_space_prefix, ..SmallSpm::new() }.tokenizer();
        arbtest(|u| {
            let mut text: String = u.arbitrary()?;
            text.push_str(u.choose(&["", "</s>", " the world", "hello  hello", "<0x41>"])?);
            // The sign for a space and a space are the same token. A special token is followed by
            // a space that was not written.
            let special = ["  ", "\n\n", "<tool>", "▁"].iter().any(|special| text.contains(special));
            if !special {
                let ids = tokenizer.encode(&text, PLAIN).unwrap();
                assert_eq!(tokenizer.decode(&ids, true), text);
            }
            Ok(())
        })
        .budget_ms(100);
    }
}

#[test]
fn words_are_merged_as_the_whole_text_by_the_plainest_encoder() {
    const PARTS: &[&str] = &[
        "the", "a", "aa", " ", "us", "hello", " hello", "ab", "bc", "b", "c", ".", "é", "中", "国", "world",
        "q", "> </", "> <", ">", "</", "s>", "_",
    ];
    arbtest(|u| {
        let mut small = SmallSpm::new();
        small.add_space_prefix = *u.choose(&[None, Some(false)])?;
        // Else runs of spaces are cut out.
        small.remove("  ");
        for token in ["▁▁", ">▁</"] {
            if u.arbitrary()? {
                small.remove(token);
            }
        }
        let mut text = String::new();
        while text.len() < 200 && u.ratio(9, 10)? {
            text.push_str(&u.choose(PARTS)?.repeat(u.int_in_range(1..=20)?));
        }
        // Special tokens are another matter.
        if text.contains("</s>") {
            return Ok(());
        }
        assert_eq!(small.tokenizer().encode(&text, PLAIN).unwrap(), small.plain(&text), "{text:?}");
        Ok(())
    });
}

#[test]
fn random_scores_are_obeyed_as_by_the_plainest_encoder() {
    arbtest(|u| {
        let mut small = SmallSpm::new();
        let mut pieces: Vec<String> = ["x", "y", "z", "▁"].map(String::from).to_vec();
        for _ in 0..u.int_in_range(1..=25)? {
            let joined = format!("{}{}", u.choose(&pieces)?, u.choose(&pieces)?);
            if !small.tokens.contains(&joined) {
                // Few scores, so that many are equal.
                let score = u.int_in_range(-4..=1)?;
                small.add(&joined, 1, score as f32);
                pieces.push(joined);
            }
        }
        small.remove("  ");
        let length = u.int_in_range(1..=120)?;
        let mut text = String::new();
        for _ in 0..length {
            text.push(*u.choose(&['x', 'y', 'z', ' '])?);
        }
        let ids = small.tokenizer().encode(&text, PLAIN).unwrap();
        assert_eq!(ids, small.plain(&text), "{text:?} with {pieces:?}");
        Ok(())
    });
}

#[test]
fn control_tokens_are_matched_on_request_and_never_spelled() {
    let mut small = without_prefix();
    // Pieces that would lead to control tokens, one of them listed as user-defined.
    small.add("<turn", 1, -1.0);
    small.add("<tur", 1, -1.0);
    small.add("<tu", 1, -1.0);
    small.add("<t", 1, -1.0);
    small.add("n", 1, -1.0);
    small.add("<eos", 1, -1.0);
    small.add("<eo", 1, -1.0);
    small.add("<e", 1, -1.0);
    let eos = small.add("<eos>", 4, 5.0);
    let tokenizer = small.tokenizer();
    assert_eq!(pieces(&tokenizer, "<turn></s><eos><tool>", PLAIN), "<turn·>·</·s>·<eos·>·<tool>");
    assert_eq!(pieces(&tokenizer, "<turn></s><eos><tool>", PARSED), "<turn>·</s>·<eos>·<tool>");
    // What a model writes with it is shown.
    assert_eq!(tokenizer.decode(&[eos], false), "<eos>");
}

#[test]
fn bos_is_added_unless_the_file_says_no() {
    let check = |add_bos, add_eos, expected: &str| {
        let tokenizer = SmallSpm { add_bos, add_eos, ..SmallSpm::new() }.tokenizer();
        assert_eq!(pieces(&tokenizer, "the", SPECIAL), expected);
        assert_eq!(pieces(&tokenizer, "the", PARSED), "▁the");
    };
    check(None, None, "<s>·▁the");
    check(Some(true), None, "<s>·▁the");
    check(Some(false), None, "▁the");
    check(None, Some(true), "<s>·▁the·</s>");
    check(Some(false), Some(true), "▁the·</s>");
    // One that a user typed in a prompt is one more.
    assert_eq!(pieces(&SmallSpm::new().tokenizer(), "<s>the", SPECIAL), "<s>·<s>·▁the");
}

#[test]
fn a_chat_begins_with_one_bos_where_the_file_or_the_template_wants_one() {
    let check = |add_bos, template: &str, expected: &str| {
        let tokenizer = SmallSpm { add_bos, add_eos: Some(true), ..without_prefix() }.tokenizer();
        let template = ChatTemplate::new(template, "<s>", "</s>").unwrap();
        let messages = json!([{"role": "user", "content": "<s>hello"}]);
        let segments = template.render_segments(&messages, &RenderOptions::default(), &tokenizer).unwrap();
        let ids = tokenizer.encode_segments(&segments).unwrap();
        let texts: Vec<&str> = ids.iter().map(|&id| tokenizer.token_text(id)).collect();
        assert_eq!(texts.join("·"), expected);
    };
    let with = "{{ bos_token }}<turn>{{ messages[0].content }}";
    let without = "<turn>{{ messages[0].content }}";
    for add_bos in [None, Some(true)] {
        check(add_bos, with, "<s>·<turn>·<·s>·hello");
        check(add_bos, without, "<s>·<turn>·<·s>·hello");
    }
    check(Some(false), with, "<s>·<turn>·<·s>·hello");
    check(Some(false), without, "<turn>·<·s>·hello");
    // Two that a template writes are what it wants.
    check(None, &format!("<s>{with}"), "<s>·<s>·<turn>·<·s>·hello");
}

#[test]
fn scores_are_one_a_token_and_numbers() {
    fn check(data: VocabularyData, expected: &str) {
        let error = Tokenizer::new(data).err().expect("the vocabulary is broken");
        assert_eq!(error.to_string(), expected);
    }
    let small = SmallSpm::new();
    check(
        VocabularyData { scores: None, ..small.data() },
        "tokenizer.ggml.scores is missing; tokenizer.ggml.model \"llama\" needs one a token",
    );
    let count = small.tokens.len();
    check(
        VocabularyData { scores: Some(&small.scores[1..]), ..small.data() },
        &format!("tokenizer.ggml.scores has {} entries; expected {count}, one a token", count - 1),
    );
    let mut broken = small.clone();
    broken.scores[7] = f32::NAN;
    check(broken.data(), "the score of token 7 is not a number");
    broken.scores[7] = f32::NEG_INFINITY;
    assert!(Tokenizer::new(broken.data()).is_ok());
    broken.tokens[7] = "<0x+4>".into();
    check(broken.data(), "token 7, \"<0x+4>\", is a byte; expected a name as <0x0A>");
}
