//! DRY, "don't repeat yourself": a penalty of tokens that would make a repetition longer.

use crate::Settings;
use crate::penalties::{bounded, latest};

/// Takes `multiplier` x `base`^(n - `allowed_length`) off the logit of each token that followed earlier
/// where the n latest tokens stood, n being the largest such number and at least `allowed_length`
/// (p-e-w, "DRY: A modern repetition penalty that reliably prevents looping", text-generation-webui pull
/// request 5677, 2024). The n tokens come after the last sequence breaker, and a token that is a breaker
/// has no penalty.
///
/// Linear in the tokens looked at, since breakers are in the order of [`sort`]: there are thousands of them when
/// every token that holds a line break is one. `marks` is 0 for each token, before and after; `lengths` is room.
pub(crate) fn penalize(
    logits: &mut [f32],
    settings: &Settings,
    history: &[u32],
    marks: &mut [u32],
    lengths: &mut Vec<u32>,
) {
    let seen = latest(history, settings.dry_penalty_last_n);
    let breakers = &settings.dry_sequence_breakers;
    let longest = since_breaker(seen, breakers);
    let allowed = settings.dry_allowed_length.max(1);
    if longest < allowed as usize {
        return;
    }
    common_suffixes(seen, lengths);
    // The token before `back` steps is the one that followed a repetition which ended a step earlier.
    let follower = |back: usize| seen[seen.len() - back];
    for back in 1..seen.len() {
        let length = lengths[back].min(longest as u32);
        if length >= allowed
            && let Some(mark) = marks.get_mut(follower(back) as usize)
        {
            *mark = length.max(*mark);
        }
    }
    for back in 1..seen.len() {
        let id = follower(back);
        let Some(mark) = marks.get_mut(id as usize) else { continue };
        let length = std::mem::take(mark);
        if length == 0 || ending_with(breakers, id).iter().any(|breaker| breaker[..] == [id]) {
            continue;
        }
        let power = libm::pow(settings.dry_base.into(), (length - allowed).into());
        let penalty = (f64::from(settings.dry_multiplier) * power).min(f32::MAX.into()) as f32;
        let logit = &mut logits[id as usize];
        *logit = bounded(*logit, *logit - penalty);
    }
}

/// How many tokens come after the last breaker.
fn since_breaker(seen: &[u32], breakers: &[Vec<u32>]) -> usize {
    let ends_here = |end: &usize| {
        let candidates = ending_with(breakers, seen[end - 1]);
        candidates.iter().any(|breaker| seen[..*end].ends_with(breaker))
    };
    seen.len() - (1..=seen.len()).rev().find(ends_here).unwrap_or(0)
}

/// Brings breakers into the order in which they are found: by their last token.
pub(crate) fn sort(breakers: &mut [Vec<u32>]) {
    breakers.sort_by_key(|breaker| breaker.last().copied());
}

/// The breakers with that last token.
fn ending_with(breakers: &[Vec<u32>], last: u32) -> &[Vec<u32>] {
    let from = breakers.partition_point(|breaker| breaker.last() < Some(&last));
    let after = breakers[from..].partition_point(|breaker| breaker.last() == Some(&last));
    &breakers[from..from + after]
}

/// For each `back` of 1 or more, how many of the latest tokens stood `back` steps earlier too: the Z
/// function of the list read backwards (Gusfield, "Algorithms on Strings, Trees and Sequences", 1997).
fn common_suffixes(seen: &[u32], lengths: &mut Vec<u32>) {
    let count = seen.len();
    let from_end = |back: usize| seen[count - 1 - back];
    lengths.clear();
    lengths.resize(count, 0);
    // The match that reaches furthest back begins at `start` and ends before `end`.
    let (mut start, mut end) = (0, 0);
    for back in 1..count {
        let mut length = if back < end { (lengths[back - start] as usize).min(end - back) } else { 0 };
        while back + length < count && from_end(length) == from_end(back + length) {
            length += 1;
        }
        if back + length > end {
            (start, end) = (back, back + length);
        }
        lengths[back] = length as u32;
    }
}
