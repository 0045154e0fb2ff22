//! Bytes of tokens to whole characters while they arrive.

use std::str;

/// Turns bytes that arrive in pieces into whole characters.
///
/// Nothing is given out before a character is complete. A byte sequence that cannot become a
/// character is U+FFFD once, as soon as that is known. All outputs joined equal
/// [`String::from_utf8_lossy`] of all bytes joined.
#[derive(Debug, Clone)]
pub struct StreamDecoder {
    // The valid beginning of a character: at most 3 bytes.
    pending: Vec<u8>,
    // What was given out last; its room is used again.
    text: String,
}

/// Bytes of nearly every token: room for so many is there from the start.
pub(crate) const ROOM: usize = 256;

impl Default for StreamDecoder {
    fn default() -> StreamDecoder {
        StreamDecoder::new()
    }
}

impl StreamDecoder {
    /// A decoder that has seen nothing.
    pub fn new() -> StreamDecoder {
        StreamDecoder { pending: Vec::with_capacity(ROOM), text: String::with_capacity(ROOM) }
    }

    /// Takes the next bytes; returns the characters that they complete.
    pub fn push(&mut self, bytes: &[u8]) -> &str {
        self.pending.extend_from_slice(bytes);
        let text = &mut self.text;
        text.clear();
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
    pub fn finish(&mut self) -> &'static str {
        let unfinished = !self.pending.is_empty();
        self.pending.clear();
        if unfinished { "\u{fffd}" } else { "" }
    }
}
