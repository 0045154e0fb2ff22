use arbtest::arbtest;
use text::StreamDecoder;

/// Pushes each part and ends the stream; the outputs in order.
fn check(parts: &[&[u8]], expected: &[&str]) {
    let mut decoder = StreamDecoder::new();
    let mut outputs: Vec<String> = parts.iter().map(|part| decoder.push(part).to_owned()).collect();
    outputs.push(decoder.finish().to_owned());
    assert_eq!(outputs, expected);
}

#[test]
fn a_character_comes_when_it_is_complete() {
    check(&[b"\xF0", b"\x9F", b"\xA6", b"\x99", b" ok"], &["", "", "", "🦙", " ok", ""]);
    check(&[b"a\xC3", b"\xA9b\xE2\x82"], &["a", "éb", "\u{FFFD}"]);
    check(&[b""], &["", ""]);
}

#[test]
fn an_invalid_byte_is_replaced_once_and_at_once() {
    check(&[b"\xFF", b"'"], &["\u{FFFD}", "'", ""]);
    // The second byte shows that the first one begins no character.
    check(&[b"\xE2", b"x"], &["", "\u{FFFD}x", ""]);
    check(&[b"\xE2\x82", b"\xE2\x82", b"\xAC"], &["", "\u{FFFD}", "€", ""]);
    check(&[b"\x80\x80", b"\xC0"], &["\u{FFFD}\u{FFFD}", "\u{FFFD}", ""]);
}

#[test]
fn an_unfinished_character_is_replaced_at_the_end() {
    check(&[b"\xE2\x82"], &["", "\u{FFFD}"]);
    check(&[b"\xF0\x9F", b"\xA6"], &["", "", "\u{FFFD}"]);
}

/// Whole characters, beginnings, ends, and what UTF-8 forbids.
const PARTS: &[&[u8]] = &[
    b"a",
    b"\xC3\xA9",
    b"\xE2\x82\xAC",
    b"\xF0\x9F\xA6\x99",
    b"\xFF",
    b"\xE2",
    b"\x82",
    b"\xF0\x9F",
    b"\xED\xA0",
    b"\xC0",
];

#[test]
fn outputs_joined_are_the_text_as_a_whole() {
    arbtest(|u| {
        let mut bytes = Vec::new();
        for _ in 0..u.int_in_range(0..=30)? {
            let part = u.choose(PARTS)?;
            bytes.extend_from_slice(part);
        }
        let mut decoder = StreamDecoder::new();
        let mut text = String::new();
        let mut rest = bytes.as_slice();
        while !rest.is_empty() {
            let (part, after) = rest.split_at(u.int_in_range(1..=rest.len().min(4))?);
            text.push_str(decoder.push(part));
            rest = after;
        }
        text.push_str(decoder.finish());
        assert_eq!(text, String::from_utf8_lossy(&bytes));
        Ok(())
    });
}
