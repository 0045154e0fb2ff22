use arbtest::arbitrary::{Result, Unstructured};
use arbtest::arbtest;
use text::{EncodeOptions, Error, PreTokenizer, Tokenizer};

use crate::small::{Small, spell};

const PLAIN: EncodeOptions = EncodeOptions { add_special: false, parse_special: false };
const PARSED: EncodeOptions = EncodeOptions { add_special: false, parse_special: true };
const SPECIAL: EncodeOptions = EncodeOptions { add_special: true, parse_special: true };

/// The spellings of the tokens of a text, with `|` between.
fn pieces(tokenizer: &Tokenizer, text: &str, options: EncodeOptions) -> String {
    let ids = tokenizer.encode(text, options).unwrap();
    ids.iter().map(|&id| tokenizer.token_text(id)).collect::<Vec<_>>().join("·")
}

#[test]
fn earlier_merges_go_first() {
    let tokenizer = Small::new("gpt-2").tokenizer();
    let check = |text, expected: &str| assert_eq!(pieces(&tokenizer, text, PLAIN), expected);
    check("", "");
    check("hello world", "hello·Ġworld");
    check("the hello", "the·Ġ·hello");
    check("ZZZZZ", "ZZZZ·Z");
    check("usususu", "usus·us·u");
    check(
        "é中\u{0}",
        "é·中·Ā".replace('é', &spell("é".as_bytes())).replace('中', &spell("中".as_bytes())).as_str(),
    );
    check("we'll", "w·e·'ll");
}

#[test]
fn pieces_are_merged_as_by_the_plainest_bpe() {
    let small = Small::new("qwen2");
    let tokenizer = small.tokenizer();
    arbtest(|u| {
        let text = words(u, &["the", "Z", "ZZ", " ", "us", "hello", ".", "\n", "1", "é", "中", "<|", "'"])?;
        let mut expected = Vec::new();
        for piece in PreTokenizer::Qwen2.split(&text) {
            expected.extend(small.plain_bpe(piece.as_bytes()));
        }
        assert_eq!(tokenizer.encode(&text, PLAIN).unwrap(), expected, "{text:?}");
        Ok(())
    });
}

fn words(u: &mut Unstructured, of: &[&str]) -> Result<String> {
    let mut text = String::new();
    // Runs of one word up to some hundred bytes: both ways of merging are met.
    while text.len() < 300 && u.ratio(9, 10)? {
        text.push_str(&u.choose(of)?.repeat(u.int_in_range(1..=40)?));
    }
    Ok(text)
}

#[test]
fn random_merges_are_applied_as_by_the_plainest_bpe() {
    arbtest(|u| {
        // Merges of any two tokens in any order: also ones whose parts come to be only later.
        let mut small = Small::new("gpt-2");
        let mut letters: Vec<String> = ["a", "b", "c"].map(String::from).to_vec();
        for _ in 0..u.int_in_range(1..=25)? {
            let (left, right) = (u.choose(&letters)?.clone(), u.choose(&letters)?.clone());
            let (joined, merge) = (format!("{left}{right}"), format!("{left} {right}"));
            if !small.tokens.contains(&joined) {
                small.add(&joined, 1);
                letters.push(joined);
            }
            if !small.merges.contains(&merge) {
                small.merges.insert(u.int_in_range(0..=small.merges.len())?, merge);
            }
        }
        let length = u.int_in_range(1..=120)?;
        let mut word = String::new();
        for _ in 0..length {
            word.push(*u.choose(&['a', 'b', 'c'])?);
        }
        let ids = small.tokenizer().encode(&word, PLAIN).unwrap();
        assert_eq!(ids, small.plain_bpe(word.as_bytes()), "{word} with {:?}", small.merges);
        Ok(())
    });
}

#[test]
fn every_text_decodes_to_itself() {
    for pre in ["gpt-2", "smollm", "qwen2", "llama-bpe"] {
        let tokenizer = Small::new(pre).tokenizer();
        arbtest(|u| {
            let mut text: String = u.arbitrary()?;
            text.push_str(u.choose(&["", "<|im_end|>", "<tool> \n", "\t\n\n", "hello hello"])?);
            for options in [PLAIN, PARSED] {
                let ids = tokenizer.encode(&text, options).unwrap();
                assert_eq!(tokenizer.decode(&ids, true), text);
            }
            Ok(())
        })
        .budget_ms(100);
    }
}

#[test]
fn control_tokens_are_matched_on_request_and_user_defined_ones_always() {
    let tokenizer = Small::new("gpt-2").tokenizer();
    let check = |text, plain: &str, parsed: &str| {
        assert_eq!(pieces(&tokenizer, text, PLAIN), plain);
        assert_eq!(pieces(&tokenizer, text, PARSED), parsed);
    };
    check("<|im_end|>the", "<|·im·_·end·|>·the", "<|im_end|>·the");
    check("a<tool>the</tool>", "a·<tool>·the·</tool>", "a·<tool>·the·</tool>");
    // The longest one, and else the leftmost.
    check("<|im_end|>x", "<|·im·_·end·|>·x", "<|im_end|>x");
    check("<<|im_end|>|>", "<·<|·im·_·end·|>·|>", "<·<|im_end|>·|>");
    check("a\t\n\n", "a·\t\n·Ċ", "a·\t\n·Ċ");
    // Not matched as it stands, and not text either.
    check("[UNUSED]", "[·U·N·U·S·E·D·]", "[·U·N·U·S·E·D·]");
}

#[test]
fn a_usual_end_of_turn_is_markup_even_where_the_file_says_normal() {
    let mut small = Small::new("qwen2");
    small.add("</s>", 1);
    let tokenizer = small.tokenizer();
    assert_eq!(pieces(&tokenizer, "<s></s>", PARSED), "<·s·>·</s>");
    assert_eq!(pieces(&tokenizer, "<s></s>", PLAIN), "<·s·></·s·>".replace("></", ">·<·/").as_str());
    // What a model writes with it is shown and does not end the text.
    let id = small.id("</s>");
    assert_eq!((tokenizer.decode(&[id], false).as_str(), tokenizer.is_eog(id)), ("</s>", false));
}

#[test]
fn a_piece_that_is_a_token_is_not_merged_by_llama_bpe() {
    // A token that no merges lead to.
    let with_token = |pre| {
        let mut small = Small::new(pre);
        small.add("xyz", 1);
        pieces(&small.tokenizer(), "xyz xyz", PLAIN)
    };
    assert_eq!(with_token("qwen2"), "x·y·z·Ġ·x·y·z");
    assert_eq!(with_token("llama-bpe"), "xyz·Ġ·x·y·z");
}

#[test]
fn bos_and_eos_are_added_as_the_file_says_or_the_pretokenizer_does() {
    let check = |pre, add_bos, add_eos, expected: &str| {
        let tokenizer = Small { add_bos, add_eos, ..Small::new(pre) }.tokenizer();
        assert_eq!(pieces(&tokenizer, "the", SPECIAL), expected);
        assert_eq!(pieces(&tokenizer, "the", PARSED), "the");
        assert_eq!(tokenizer.add_bos(), expected.contains("bos"));
        assert_eq!(tokenizer.add_eos(), expected.contains("end"));
    };
    check("gpt-2", None, None, "the");
    check("qwen2", None, None, "the");
    check("llama-bpe", None, None, "<|bos|>·the");
    check("llama-bpe", Some(false), None, "the");
    check("smollm", Some(true), Some(true), "<|bos|>·the·<|im_end|>");
    check("llama-bpe", None, Some(true), "<|bos|>·the·<|im_end|>");
    // A BOS that the text itself has is one more.
    let tokenizer = Small::new("llama-bpe").tokenizer();
    assert_eq!(pieces(&tokenizer, "<|bos|>the", SPECIAL), "<|bos|>·<|bos|>·the");
}

#[test]
fn tokens_know_what_they_are() {
    let small = Small::new("gpt-2");
    let tokenizer = small.tokenizer();
    let id = |text| small.id(text);
    assert_eq!(tokenizer.n_vocab(), small.tokens.len());
    assert_eq!(tokenizer.piece(id("Ġworld")), b" world");
    assert_eq!(tokenizer.token_text(id("Ġworld")), "Ġworld");
    assert_eq!(tokenizer.piece(0xFF), b"\xFF");
    assert_eq!(tokenizer.piece(id("<|im_end|>")), b"<|im_end|>");
    assert_eq!(tokenizer.piece(id("[UNUSED]")), b"");
    assert_eq!(tokenizer.id_of_text("<tool>"), Some(id("<tool>")));
    assert_eq!(tokenizer.id_of_text("no such token"), None);
    let control = ["<|bos|>", "<|im_start|>", "<|im_end|>", "<|im_end|>x", "<|endoftext|>"];
    for text in &small.tokens {
        assert_eq!(tokenizer.is_control(id(text)), control.contains(&text.as_str()), "{text}");
        let ends = ["<|im_end|>", "<|endoftext|>"].contains(&text.as_str());
        assert_eq!(tokenizer.is_eog(id(text)), ends, "{text}");
    }
    let ids = tokenizer.encode("<|im_end|>the<tool>", PARSED).unwrap();
    assert_eq!(tokenizer.decode(&ids, false), "the<tool>");
    assert_eq!(tokenizer.decode_bytes(&ids, true), b"<|im_end|>the<tool>");
}

#[test]
fn further_ends_of_generation_are_those_named() {
    let small = Small::new("gpt-2");
    let further = [small.id("the"), small.id("<tool>")];
    let data = text::VocabularyData { eog: &further, eot: Some(small.id("hello")), ..small.data() };
    let tokenizer = Tokenizer::new(data).unwrap();
    let ends = ["the", "hello", "<tool>", "<|im_end|>", "<|endoftext|>"].map(|text| small.id(text));
    assert!(ends.iter().all(|&id| tokenizer.is_eog(id)));
    assert_eq!(tokenizer.eog().len(), ends.len());
}

#[test]
fn a_byte_without_a_token_is_an_error_that_says_where() {
    let mut small = Small::new("gpt-2");
    // As in real vocabularies, where a byte never occurred in training.
    small.tokens[4] = "unreachable".into();
    let tokenizer = small.tokenizer();
    assert_eq!(
        tokenizer.encode("hello world \u{4}!", PLAIN),
        Err(Error::NoTokenForByte { byte: 4, offset: 12 })
    );
    assert!(tokenizer.encode("hello world \u{5}!", PLAIN).is_ok());
}

#[test]
fn tokenizers_and_templates_are_shared_between_threads() {
    fn check<T: Send + Sync>() {}
    check::<Tokenizer>();
    check::<text::ChatTemplate>();
}
