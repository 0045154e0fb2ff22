use arbtest::arbtest;
use text::{Error, StopMatcher, StreamDecoder};

/// What comes out at each piece and at the end, with `|` between and `!` where it stops.
fn run(stops: &[&str], pieces: &[&str]) -> String {
    let mut matcher = StopMatcher::new(stops).unwrap();
    let mut out = String::new();
    for piece in pieces {
        let (text, stopped) = matcher.push(piece);
        out.push_str(text);
        out.push(if stopped { '!' } else { '|' });
        assert_eq!(matcher.stopped(), stopped);
    }
    out + matcher.finish()
}

#[test]
fn a_stop_string_may_lie_across_pieces() {
    let check = |stops: &[&str], pieces: &[&str], expected: &str| assert_eq!(run(stops, pieces), expected);
    check(&["two three"], &["one tw", "o thr", "ee", " four"], "one ||!!");
    check(&["two three"], &["one tw", "o thr", "ee four"], "one ||!");
    check(&["\nUser:"], &["a", "\n", "Us", "b"], "a|||\nUsb|");
    check(&["\nUser:"], &["a", "\n", "Us"], "a|||\nUs");
    check(&["STOP"], &["x STOP y"], "x !");
    check(&["STOP"], &["STOP"], "!");
    check(&["STOP"], &["STSTO", "P"], "ST|!");
    check(&[], &["all", " of it"], "all| of it|");
    check(&["x"], &[], "");
    check(&["x"], &["", "a", ""], "|a||");
}

#[test]
fn the_first_complete_stop_string_counts_and_the_longest_among_equals() {
    let check = |stops: &[&str], pieces: &[&str], expected: &str| assert_eq!(run(stops, pieces), expected);
    check(&["e", "the"], &["in the end"], "in !");
    check(&["e", "the"], &["in t", "h", "e end"], "in ||!");
    check(&["the", "e"], &["one the"], "on!");
    // The other one is complete first, in whatever pieces the text comes.
    check(&["abcdx", "c"], &["abcdx"], "ab!");
    check(&["abcdx", "c"], &["a", "b", "c", "d", "x"], "||ab!!!");
    check(&["b", "d", "f", "h", "a"], &["xyza"], "xyz!");
}

#[test]
fn text_is_held_back_no_longer_than_it_may_become_a_stop_string() {
    let check = |stops: &[&str], pieces: &[&str], expected: &str| assert_eq!(run(stops, pieces), expected);
    check(&["aab"], &["a", "a", "a", "a", "c"], "||a|a|aac|");
    check(&["abab!"], &["aba", "b", "c"], "||ababc|");
    check(&["abab!", "bab?"], &["abab", "a"], "|ab|aba");
}

#[test]
fn a_stop_string_may_be_split_inside_a_character() {
    let mut decoder = StreamDecoder::new();
    let mut matcher = StopMatcher::new(&["🦙 end"]).unwrap();
    let mut out = String::new();
    let bytes: Vec<&[u8]> = vec![b"ok \xF0", b"\x9F\xA6", b"\x99", b" e", b"nd", b"!"];
    let mut stops = Vec::new();
    for part in bytes {
        let (text, stopped) = matcher.push(decoder.push(part));
        out.push_str(text);
        stops.push(stopped);
    }
    assert_eq!(out, "ok ");
    assert_eq!(stops, [false, false, false, false, true, true]);
    // Characters that begin with the same byte are not cut.
    assert_eq!(run(&["é!"], &["è", "é", "é?"]), "è||éé?|");
}

#[test]
fn an_empty_stop_string_is_refused() {
    assert_eq!(StopMatcher::new(&["a", ""]).err(), Some(Error::StopEmpty { index: 1 }));
    let message = Error::StopEmpty { index: 1 }.to_string();
    assert_eq!(message, "stop string 1 is empty; expected at least one character");
}

#[test]
fn a_matcher_is_as_new_after_the_end() {
    let mut matcher = StopMatcher::new(&["ab"]).unwrap();
    assert_eq!(matcher.push("xab"), ("x", true));
    assert_eq!(matcher.finish(), "");
    assert_eq!(matcher.push("xa"), ("x", false));
    assert_eq!(matcher.finish(), "a");
    assert_eq!(matcher.push("b"), ("b", false));
}

/// The text up to the stop string that ends first, the longest among those that end there.
fn plain(stops: &[String], text: &str) -> String {
    let ends = (0..=text.len()).filter(|&end| text.is_char_boundary(end));
    for end in ends {
        let longest = stops.iter().filter(|stop| text[..end].ends_with(stop.as_str())).map(|s| s.len()).max();
        if let Some(length) = longest {
            return text[..end - length].to_owned();
        }
    }
    text.to_owned()
}

#[test]
fn in_pieces_and_as_a_whole_the_text_is_the_same() {
    const PARTS: &[&str] = &["a", "b", "ab", "é", "è", "中", "🦙"];
    arbtest(|u| {
        let mut words = |count| -> arbtest::arbitrary::Result<String> {
            (0..u.int_in_range(1..=count)?).map(|_| u.choose(PARTS).copied()).collect()
        };
        let stops = vec![words(4)?, words(6)?, words(3)?];
        let text = words(40)?;
        let mut matcher = StopMatcher::new(&stops).unwrap();
        let (mut out, mut rest) = (String::new(), text.as_str());
        while let Some(char) = rest.chars().next() {
            let mut end = char.len_utf8();
            while end < rest.len() && (!rest.is_char_boundary(end) || u.arbitrary()?) {
                end += 1;
            }
            while !rest.is_char_boundary(end) {
                end += 1;
            }
            out.push_str(matcher.push(&rest[..end]).0);
            rest = &rest[end..];
        }
        out.push_str(matcher.finish());
        assert_eq!(out, plain(&stops, &text), "{stops:?} in {text:?}");
        Ok(())
    });
}

#[test]
fn held_back_text_is_not_moved_at_each_piece() {
    // A quadratic matcher would take minutes.
    let stop = format!("{}b", "a".repeat(300_000));
    let mut matcher = StopMatcher::new(&[stop]).unwrap();
    let mut length = 0;
    for _ in 0..600_000 {
        length += matcher.push("a").0.len();
    }
    assert_eq!(length, 300_000);
    assert_eq!(length + matcher.finish().len(), 600_000);
}
