//! The pattern of Llama 3, and of Qwen 2, which differs in how many digits a piece holds.

use super::contraction_len;
use crate::class::{Class, class_at};

pub(super) fn piece_end(text: &str, start: usize, digits_max: usize) -> usize {
    let (class, len) = class_at(text, start).expect("inside the text");
    let next = start + len;
    match class {
        Class::Letter => letters_end(text, next),
        Class::Number => {
            let mut end = next;
            for _ in 1..digits_max {
                let Some((Class::Number, len)) = class_at(text, end) else { break };
                end += len;
            }
            end
        }
        Class::Other => {
            let len = contraction_len(text, start, true);
            if len > 0 {
                return start + len;
            }
            match class_at(text, next) {
                Some((Class::Letter, len)) => letters_end(text, next + len),
                _ => marks_end(text, next),
            }
        }
        Class::Space => {
            let byte = text.as_bytes()[start];
            match class_at(text, next) {
                Some((Class::Letter, len)) if !is_newline(byte) => letters_end(text, next + len),
                Some((Class::Other, len)) if byte == b' ' => marks_end(text, next + len),
                _ => spaces_end(text, start),
            }
        }
    }
}

fn is_newline(byte: u8) -> bool {
    matches!(byte, b'\r' | b'\n')
}

fn letters_end(text: &str, mut at: usize) -> usize {
    while let Some((Class::Letter, len)) = class_at(text, at) {
        at += len;
    }
    at
}

/// Punctuation and the like take the line ends after them along.
fn marks_end(text: &str, mut at: usize) -> usize {
    while let Some((Class::Other, len)) = class_at(text, at) {
        at += len;
    }
    while text.as_bytes().get(at).is_some_and(|&byte| is_newline(byte)) {
        at += 1;
    }
    at
}

/// A run of spaces: up to its last line end if it has one, else all but its last space, which goes
/// with what follows, else all of it.
fn spaces_end(text: &str, start: usize) -> usize {
    let mut end = start;
    let mut last = start;
    let mut newline_end = None;
    while let Some((Class::Space, len)) = class_at(text, end) {
        if is_newline(text.as_bytes()[end]) {
            newline_end = Some(end + len);
        }
        last = end;
        end += len;
    }
    match newline_end {
        Some(end) => end,
        None if end < text.len() && last > start => last,
        None => end,
    }
}
