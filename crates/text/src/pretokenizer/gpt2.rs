//! The pattern of GPT-2, and of those that cut digits out before it.

use super::contraction_len;
use crate::class::{Class, class_at};

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Digits {
    /// A run of digits is a piece, with the space before it.
    Run,
    /// Every digit is a piece of its own, and the text ends before it.
    Apart,
}

pub(super) fn piece_end(text: &str, start: usize, digits: Digits) -> usize {
    let (class, len) = class_at(text, start).expect("inside the text");
    let next = start + len;
    match class {
        Class::Number if digits == Digits::Apart => next,
        Class::Letter | Class::Number => run_end(text, next, class),
        Class::Other => match contraction_len(text, start, false) {
            0 => run_end(text, next, class),
            len => start + len,
        },
        Class::Space => space_end(text, start, next, digits),
    }
}

fn run_end(text: &str, mut at: usize, class: Class) -> usize {
    while let Some((found, len)) = class_at(text, at)
        && found == class
    {
        at += len;
    }
    at
}

/// A space goes with the run after it, and a run of them leaves its last one for that.
fn space_end(text: &str, start: usize, next: usize, digits: Digits) -> usize {
    if text.as_bytes()[start] == b' '
        && let Some((class, len)) = class_at(text, next)
        && class != Class::Space
        && !(class == Class::Number && digits == Digits::Apart)
    {
        return run_end(text, next + len, class);
    }
    let mut last = start;
    let mut end = next;
    loop {
        match class_at(text, end) {
            Some((Class::Space, len)) => {
                last = end;
                end += len;
            }
            Some((Class::Number, _)) if digits == Digits::Apart => return end,
            Some(_) if last > start => return last,
            Some(_) | None => return end,
        }
    }
}
