//! Masks, ends, clones.

use std::sync::Arc;

use constrain::{ConstrainError, Constraint, Vocabulary};
use serde_json::json;

use crate::common::{CONTROL, END, Random, accepts, output, vocabulary};

fn token(byte: u8) -> u32 {
    u32::from(byte)
}

#[test]
fn an_end_is_allowed_exactly_when_the_output_may_end() {
    let constraint = Constraint::regex(&vocabulary(), "ab?").unwrap();
    let mut matcher = constraint.matcher();
    assert!(!matcher.mask().unwrap().allows(END));
    assert!(!matcher.may_end().unwrap());
    matcher.advance(token(b'a')).unwrap();
    assert_eq!(matcher.mask().unwrap().iter().collect::<Vec<_>>(), [token(b'b'), END]);
    assert!(matcher.may_end().unwrap());
    assert!(!matcher.is_finished());
    let mut ended = matcher.clone();
    ended.advance(END).unwrap();
    assert!(ended.is_finished());
    matcher.advance(token(b'b')).unwrap();
    assert!(matcher.is_finished(), "nothing can follow");
    assert_eq!(matcher.mask().unwrap().iter().collect::<Vec<_>>(), [END]);
    matcher.reset();
    assert_eq!(matcher.mask().unwrap().iter().collect::<Vec<_>>(), [token(b'a')]);
}

#[test]
fn an_object_is_finished_with_its_last_brace() {
    let constraint = Constraint::json_object(&vocabulary()).unwrap();
    let mut matcher = constraint.matcher();
    for byte in br#"{"a": {}}"# {
        assert!(!matcher.is_finished());
        matcher.advance(token(*byte)).unwrap();
    }
    assert!(matcher.is_finished());
}

#[test]
fn a_token_that_is_not_allowed_changes_nothing() {
    let constraint = Constraint::regex(&vocabulary(), "[0-9]{2}").unwrap();
    let mut matcher = constraint.matcher();
    for wrong in [token(b'a'), END, CONTROL, 100_000] {
        assert_eq!(matcher.advance(wrong), Err(ConstrainError::NotAllowed { token: wrong }));
    }
    matcher.advance(token(b'1')).unwrap();
    matcher.advance(token(b'2')).unwrap();
    assert!(matcher.is_finished());
}

#[test]
fn control_tokens_are_never_allowed() {
    let vocabulary = vocabulary();
    let anything = Constraint::regex(&vocabulary, "(?s:.)*").unwrap();
    let mask = anything.matcher().mask().unwrap().clone();
    assert!(!mask.allows(CONTROL));
    assert!(mask.allows(END));
    let count = vocabulary.n_tokens();
    assert_eq!(mask.words().len(), count.div_ceil(32));
    let mut logits = vec![1.0; count + 40];
    mask.apply(&mut logits);
    for (id, logit) in logits.iter().enumerate() {
        assert_eq!(*logit > f32::NEG_INFINITY, mask.allows(id as u32), "token {id}");
    }
    // A grammar that names one by its number compiles to nothing that can be said.
    if let Ok(constraint) = Constraint::lark(&vocabulary, &format!("start: <[{CONTROL}]>")) {
        assert!(matches!(constraint.matcher().mask(), Err(ConstrainError::DeadEnd(_))));
    }
}

#[test]
fn several_tokens_can_end_an_output_and_none_need_to() {
    let pieces: [Option<&[u8]>; 4] = [Some(b"a"), None, Some(b"</s>"), None];
    let several = Arc::new(Vocabulary::new(pieces, &[1, 2]).unwrap());
    let mut matcher = Constraint::regex(&several, "a*|</s>").unwrap().matcher();
    assert_eq!(matcher.mask().unwrap().iter().collect::<Vec<_>>(), [0, 1, 2]);
    matcher.advance(2).unwrap();
    assert!(matcher.is_finished(), "a token that ends is never text");

    let none = Arc::new(Vocabulary::new(pieces, &[]).unwrap());
    let mut matcher = Constraint::regex(&none, "aa").unwrap().matcher();
    matcher.advance(0).unwrap();
    matcher.advance(0).unwrap();
    assert!(matcher.is_finished());
    // What is missing from a vocabulary is a dead end, not a hang.
    let mut matcher = Constraint::regex(&none, "ab").unwrap().matcher();
    matcher.advance(0).unwrap();
    assert!(matches!(matcher.mask(), Err(ConstrainError::DeadEnd(_))));
}

#[test]
fn vocabularies_are_checked() {
    let none: [Option<&[u8]>; 0] = [];
    assert!(matches!(Vocabulary::new(none, &[]), Err(ConstrainError::Vocabulary(_))));
    assert!(matches!(Vocabulary::new([Some(&b"a"[..])], &[1]), Err(ConstrainError::Vocabulary(_))));
    let long = vec![b'a'; 100_000];
    let odd: [Option<&[u8]>; 5] = [Some(&long), Some(b"\xff"), Some(b"\xff[1]"), Some(b""), Some(b"x")];
    let odd = Arc::new(Vocabulary::new(odd, &[]).unwrap());
    let mut matcher = Constraint::regex(&odd, "x+").unwrap().matcher();
    assert_eq!(matcher.mask().unwrap().iter().collect::<Vec<_>>(), [4]);
}

#[test]
fn grammars_say_what_may_be_said() {
    let grammar = "start: greeting \" \" NAME\ngreeting: \"hi\" | \"hello\"\nNAME: /[A-Z][a-z]{1,3}/\n";
    let constraint = Constraint::lark(&vocabulary(), grammar).unwrap();
    assert!(accepts(&constraint, "hello Bob"));
    assert!(!accepts(&constraint, "hey Bob"));
    for seed in 0..20 {
        let out =
            output(&mut constraint.matcher(), &mut Random(seed), 40).unwrap().expect("a short language");
        assert!(accepts(&constraint, std::str::from_utf8(&out).unwrap()));
    }
}

#[test]
fn schemas_in_grammars_are_enforced_or_refused() {
    let vocabulary = vocabulary();
    let grammar = |schema: serde_json::Value| format!("start: \"<\" value \">\"\nvalue: %json {schema}\n");
    let constraint = Constraint::lark(&vocabulary, &grammar(json!({"enum": [1, "}"]}))).unwrap();
    assert!(accepts(&constraint, "<\"}\">"));
    assert!(!accepts(&constraint, "<2>"));
    let error = Constraint::lark(&vocabulary, &grammar(json!({"items": {"not": {}}}))).unwrap_err();
    assert_eq!(error.pointer(), Some("/items/not"));
}

#[test]
fn wrong_grammars_and_expressions_are_errors() {
    let vocabulary = vocabulary();
    for grammar in
        ["", "start", "start: missing", "root ::= \"a\"", "start: /(/", "other: \"a\"", "start: %json {"]
    {
        let error = Constraint::lark(&vocabulary, grammar).unwrap_err();
        assert!(matches!(error, ConstrainError::Grammar(_)), "{grammar}: {error}");
    }
    for pattern in ["(", "a**{", "[z-a]", "(?=x)", "\\b", "\\1", "*"] {
        let error = Constraint::regex(&vocabulary, pattern).unwrap_err();
        assert!(matches!(error, ConstrainError::Regex(_)), "{pattern}: {error}");
    }
}

#[test]
fn masks_are_the_same_with_and_without_neighbours() {
    let constraint = Constraint::json_object(&vocabulary()).unwrap();
    let alone: Vec<_> =
        (0..10).map(|seed| output(&mut constraint.matcher(), &mut Random(seed), 60).unwrap()).collect();
    let together: Vec<_> = std::thread::scope(|scope| {
        let one = |seed| output(&mut constraint.matcher(), &mut Random(seed), 60).unwrap();
        let threads: Vec<_> = (0..10).map(|seed| scope.spawn(move || one(seed))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(alone, together);
}
