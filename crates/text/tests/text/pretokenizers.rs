use arbtest::arbtest;
use fancy_regex::Regex;
use text::{Error, PreTokenizer};

const GPT2: &str = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+";
const QWEN2: &str = r"'[sStTmMdD]|'[rR][eE]|'[vV][eE]|'[lL][lL]|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";
const LLAMA3: &str = r"'[sStTmMdD]|'[rR][eE]|'[vV][eE]|'[lL][lL]|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";

fn check(pre: PreTokenizer, text: &str, expected: &[&str]) {
    assert_eq!(pre.split(text).collect::<Vec<_>>(), expected, "{pre:?} of {text:?}");
}

#[test]
fn gpt2_takes_one_space_along_and_runs_of_digits() {
    let check = |text, expected: &[&str]| check(PreTokenizer::Gpt2, text, expected);
    check("", &[]);
    check("Hello, world!", &["Hello", ",", " world", "!"]);
    check("a 123 b1", &["a", " 123", " b", "1"]);
    check("I'm DON'T it'sx", &["I", "'m", " DON", "'", "T", " it", "'s", "x"]);
    check("a   b", &["a", "  ", " b"]);
    check("a\n\nb", &["a", "\n", "\n", "b"]);
    check("a \n b  ", &["a", " \n", " b", "  "]);
    check("a\u{A0}b", &["a", "\u{A0}", "b"]);
    check("x²Ⅷ!?", &["x", "²Ⅷ", "!?"]);
    check(" '' 'll", &[" ''", " '", "ll"]);
    check("e\u{301}e", &["e", "\u{301}", "e"]);
}

#[test]
fn smollm_sets_every_digit_apart() {
    let check = |text, expected: &[&str]| check(PreTokenizer::Smollm, text, expected);
    check("a 123 b1", &["a", " ", "1", "2", "3", " b", "1"]);
    check("a  1", &["a", "  ", "1"]);
    check("3.14 ½", &["3", ".", "1", "4", " ", "½"]);
    check("a   b", &["a", "  ", " b"]);
}

#[test]
fn qwen2_takes_marks_and_line_ends_along() {
    let check = |text, expected: &[&str]| check(PreTokenizer::Qwen2, text, expected);
    check("Hello, world!\n\n", &["Hello", ",", " world", "!\n\n"]);
    check("a 123", &["a", " ", "1", "2", "3"]);
    check("DON'T 'LLAMA", &["DON", "'T", " '", "LLAMA"]);
    check("f(x)\r\n  return", &["f", "(x", ")\r\n", " ", " return"]);
    check("a \n \n  b", &["a", " \n \n", " ", " b"]);
    check("\tx \u{A0}y", &["\tx", " ", "\u{A0}y"]);
    check("\nx", &["\n", "x"]);
}

#[test]
fn llama_bpe_takes_three_digits() {
    let check = |text, expected: &[&str]| check(PreTokenizer::LlamaBpe, text, expected);
    check("1234567 12", &["123", "456", "7", " ", "12"]);
    check("x²³4५", &["x", "²³4", "५"]);
}

fn matches<'t>(pattern: &Regex, text: &'t str) -> Vec<&'t str> {
    pattern.find_iter(text).map(|found| found.unwrap().as_str()).collect()
}

/// The scanners against the patterns that they stand for.
#[test]
fn scanners_split_as_the_published_patterns() {
    let published = [
        (PreTokenizer::Gpt2, Regex::new(GPT2).unwrap()),
        (PreTokenizer::Qwen2, Regex::new(QWEN2).unwrap()),
        (PreTokenizer::LlamaBpe, Regex::new(LLAMA3).unwrap()),
    ];
    let digit = Regex::new(r"\p{N}").unwrap();
    let gpt2 = &published[0].1;
    // Every class, every branch of the patterns, one to four bytes a character.
    let chars: Vec<char> =
        "  \n\r\t\u{A0}\u{3000}''stmdrvelLSERab\u{17F}éß中ªⒶ\u{93E}\u{301}019²Ⅷ५.,<|_\u{0}\u{200B}🙂𝐀"
            .chars()
            .collect();
    arbtest(|u| {
        let mut text = String::new();
        for _ in 0..u.int_in_range(0..=24)? {
            text.push(*u.choose(&chars)?);
        }
        for (pre, pattern) in &published {
            check(*pre, &text, &matches(pattern, &text));
        }
        let mut expected = Vec::new();
        let mut done = 0;

        for found in digit.find_iter(&text).map(Result::unwrap) {
            expected.extend(matches(gpt2, &text[done..found.start()]));
            expected.push(found.as_str());
            done = found.end();
        }
        expected.extend(matches(gpt2, &text[done..]));
        check(PreTokenizer::Smollm, &text, &expected);
        Ok(())
    })
    .budget_ms(1000);
}

#[test]
fn names_of_files_are_known_and_others_are_errors_that_list_them() {
    let name = |name| PreTokenizer::from_name(Some(name));
    assert_eq!(name("gpt-2"), Ok(PreTokenizer::Gpt2));
    assert_eq!(name("smollm"), Ok(PreTokenizer::Smollm));
    assert_eq!(name("deepseek-r1-qwen"), Ok(PreTokenizer::Qwen2));
    assert_eq!(name("llama-v3"), Ok(PreTokenizer::LlamaBpe));
    let Err(Error::PreTokenizerUnknown { found, known }) = name("klingon") else { panic!() };
    assert_eq!(found, "klingon");
    assert!(["gpt-2", "smollm", "qwen2", "llama-bpe"].iter().all(|name| known.contains(name)));
    let missing = PreTokenizer::from_name(None).unwrap_err().to_string();
    assert!(missing.starts_with("tokenizer.ggml.pre is missing; known pre-tokenizers are gpt-2, "));
}
