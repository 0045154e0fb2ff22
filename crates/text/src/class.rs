//! The four classes of characters that the pre-tokenizers tell apart.

use unicode_general_category::{GeneralCategory as Category, get_general_category};

/// Class of a character in the published patterns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Class {
    /// `\p{L}`
    Letter,
    /// `\p{N}`
    Number,
    /// `\s`
    Space,
    /// `[^\s\p{L}\p{N}]`
    Other,
}

/// The classes of ASCII, looked up for nearly every character of most texts.
const ASCII: [Class; 128] = {
    let mut table = [Class::Other; 128];
    let mut byte = 0;
    while byte < 128 {
        table[byte] = match byte as u8 {
            b'a'..=b'z' | b'A'..=b'Z' => Class::Letter,
            b'0'..=b'9' => Class::Number,
            b'\t'..=b'\r' | b' ' => Class::Space,
            _ => Class::Other,
        };
        byte += 1;
    }
    table
};

/// Class and length in bytes of the character at `at`; none at the end of the text.
#[inline]
pub(crate) fn class_at(text: &str, at: usize) -> Option<(Class, usize)> {
    let first = *text.as_bytes().get(at)?;
    if first < 128 {
        return Some((ASCII[first as usize], 1));
    }
    let char = text[at..].chars().next()?;
    Some((class_of(char), char.len_utf8()))
}

fn class_of(char: char) -> Class {
    if char.is_whitespace() {
        return Class::Space;
    }
    match get_general_category(char) {
        Category::UppercaseLetter
        | Category::LowercaseLetter
        | Category::TitlecaseLetter
        | Category::ModifierLetter
        | Category::OtherLetter => Class::Letter,
        Category::DecimalNumber | Category::LetterNumber | Category::OtherNumber => Class::Number,
        _ => Class::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(chars: &str, expected: Class) {
        for char in chars.chars() {
            assert_eq!(class_at(&char.to_string(), 0), Some((expected, char.len_utf8())), "{char:?}");
        }
    }

    #[test]
    fn classes_are_general_categories() {
        check("azAZéßʰªเ中ﬁ", Class::Letter);
        check("09٣²Ⅷ①〇", Class::Number);
        check(" \t\n\u{B}\r\u{85}\u{A0}\u{2003}\u{2028}\u{3000}", Class::Space);
        // Alphabetic, and yet no letters: a circled letter and a vowel sign.
        check("Ⓐ\u{93E}\u{301}_'.\u{0}\u{1F}\u{200B}\u{FEFF}🙂\u{10FFFF}", Class::Other);
    }

    #[test]
    fn there_is_no_class_at_the_end() {
        assert_eq!(class_at("a", 1), None);
    }
}
