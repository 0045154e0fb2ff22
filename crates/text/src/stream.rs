//! Bytes of tokens to whole characters while they arrive.

use std::str;

/// Turns bytes that arrive in pieces into whole characters.
///
/// Nothing is given out before a character is complete. A byte sequence that cannot become a
/// character is U+FFFD once, as soon as that is known. All outputs joined equal
/// [`String::from_utf8_lossy`] of all bytes joined.
#[derive(Debug, Clone, Default)]
pub struct StreamDecoder {
    // The valid beginning of a character: at most 3 bytes.
    pending: Vec<u8>,
}

impl StreamDecoder {
    /// A decoder that has seen nothing.
    pub fn new() -> StreamDecoder {
        StreamDecoder::default()
    }

    /// Takes the next bytes; returns the characters that they complete.
    pub fn push(&mut self, bytes: &[u8]) -> String {
        self.pending.extend_from_slice(bytes);
        let mut text = String::new();
        let mut rest = self.pending.as_slice();
        loop {
            match str::from_utf8(rest) {
                Ok(valid) => {
                    text.push_str(valid);
                    rest = &[];
                    break;
                }
                Err(error) => {
                    let (valid, after) = rest.split_at(error.valid_up_to());
                    text.push_str(str::from_utf8(valid).expect("checked just above"));
                    rest = after;
                    match error.error_len() {
                        Some(bad) => {
                            text.push(char::REPLACEMENT_CHARACTER);
                            rest = &rest[bad..];
                        }
                        None => break,
                    }
                }
            }
        }
        let done = self.pending.len() - rest.len();
        self.pending.drain(..done);
        text
    }

    /// Ends the stream: an unfinished character becomes U+FFFD. The decoder is as new afterwards.
    pub fn finish(&mut self) -> String {
        if self.pending.is_empty() {
            return String::new();
        }
        self.pending.clear();
        char::REPLACEMENT_CHARACTER.to_string()
    }
}
