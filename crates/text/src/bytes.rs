//! The alphabet in which byte-level vocabularies spell bytes: a printable character for each; and
//! the names of single bytes in SentencePiece vocabularies.
//!
//! The printable bytes of Latin-1 stand for themselves; the other 68 are, in order, the characters
//! from U+0100 on. So a space is written `Ġ` and a line feed `Ċ`.

/// The characters from U+0000 to U+0143 as bytes; -1 where a character names none.
const BYTE_OF_CHAR: [i16; 0x144] = {
    let mut table = [-1; 0x144];
    let mut next = 0x100;
    let mut byte = 0;
    while byte < 256 {
        if is_printable(byte as u8) {
            table[byte] = byte as i16;
        } else {
            table[next] = byte as i16;
            next += 1;
        }
        byte += 1;
    }
    table
};

/// The character of each byte.
const CHAR_OF_BYTE: [char; 256] = {
    let mut table = ['\0'; 256];
    let mut char = 0;
    while char < BYTE_OF_CHAR.len() {
        if BYTE_OF_CHAR[char] >= 0 {
            // Every value below 0x144 is a character.
            table[BYTE_OF_CHAR[char] as usize] = match char::from_u32(char as u32) {
                Some(char) => char,
                None => unreachable!(),
            };
        }
        char += 1;
    }
    table
};

const fn is_printable(byte: u8) -> bool {
    matches!(byte, b'!'..=b'~' | 0xA1..=0xAC | 0xAE..=0xFF)
}

/// How the vocabulary spells a byte.
pub(crate) fn char_of(byte: u8) -> char {
    CHAR_OF_BYTE[byte as usize]
}

/// Appends the bytes that `text` spells; fails with the first character that names none.
pub(crate) fn decode_into(text: &str, out: &mut Vec<u8>) -> Result<(), char> {
    for char in text.chars() {
        match BYTE_OF_CHAR.get(char as usize) {
            Some(&byte) if byte >= 0 => out.push(byte as u8),
            _ => return Err(char),
        }
    }
    Ok(())
}

/// The byte that SentencePiece vocabularies name `<0x0A>`.
pub(crate) fn of_hex_name(text: &str) -> Option<u8> {
    let digits = text.strip_prefix("<0x")?.strip_suffix('>')?;
    let is_hex = digits.len() == 2 && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    if is_hex { u8::from_str_radix(digits, 16).ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_survives_its_spelling() {
        let all: Vec<u8> = (0..=255).collect();
        let text: String = all.iter().map(|&byte| char_of(byte)).collect();
        assert!(text.chars().all(|char| !char.is_whitespace() && !char.is_control()));
        let mut back = Vec::new();
        assert_eq!(decode_into(&text, &mut back), Ok(()));
        assert_eq!(back, all);
        assert_eq!((char_of(b' '), char_of(b'\n'), char_of(b'a')), ('Ġ', 'Ċ', 'a'));
    }

    #[test]
    fn a_character_outside_the_alphabet_names_no_byte() {
        for char in [' ', '\n', '\u{AD}', '\u{144}', '中'] {
            assert_eq!(decode_into(&char.to_string(), &mut Vec::new()), Err(char));
        }
    }

    #[test]
    fn a_name_of_a_byte_is_two_hexadecimal_digits() {
        for byte in 0..=255 {
            assert_eq!(of_hex_name(&format!("<0x{byte:02X}>")), Some(byte));
        }
        for text in ["<0x0>", "<0x000>", "<0x+1>", "<0xG0>", "0x00", "<0x00", "<0xé>", ""] {
            assert_eq!(of_hex_name(text), None, "{text}");
        }
    }
}
