//! What changes logits: bias, and penalties of tokens that were seen.

use crate::{SampleError, Settings};

/// Adds the bias of each token that has one; minus infinity forbids it.
pub(crate) fn add_bias(logits: &mut [f32], bias: &[(u32, f32)]) -> Result<(), SampleError> {
    let count = logits.len();
    for &(id, bias) in bias {
        let logit = logits.get_mut(id as usize).ok_or(SampleError::IdOutOfRange { id, count })?;
        *logit = if bias == f32::NEG_INFINITY { bias } else { bounded(*logit, *logit + bias) };
    }
    Ok(())
}

/// Penalties of tokens among the latest ones: with n the number of times a token was seen there,
///
/// - `repeat_penalty` divides a positive logit and multiplies any other (Keskar and others, "CTRL", 2019,
///   with llama.cpp's rule for the sign: a penalty must not make a token likelier);
/// - `frequency_penalty` x n and `presence_penalty` are then taken off (OpenAI's API).
///
/// Touches the logits of tokens seen and no others. `marks` is 0 for each token, before and after.
pub(crate) fn penalize(logits: &mut [f32], settings: &Settings, history: &[u32], marks: &mut [u32]) {
    let seen = latest(history, settings.repeat_last_n);
    for &id in seen {
        // A token of the history without logit, as of an image, cannot be chosen anyway.
        if let Some(mark) = marks.get_mut(id as usize) {
            *mark += 1;
        }
    }
    for &id in seen {
        let Some(mark) = marks.get_mut(id as usize) else { continue };
        let times = std::mem::take(mark);
        if times == 0 {
            continue;
        }
        let logit = &mut logits[id as usize];
        let penalty = settings.repeat_penalty;
        let repeated = if *logit > 0.0 { *logit / penalty } else { *logit * penalty };
        let off = times as f32 * settings.frequency_penalty + settings.presence_penalty;
        *logit = bounded(*logit, repeated - bounded(0.0, off));
    }
}

/// The latest `n` tokens; all of them if `n` is negative.
pub(crate) fn latest(history: &[u32], n: i32) -> &[u32] {
    let count = usize::try_from(n).unwrap_or(usize::MAX);
    &history[history.len().saturating_sub(count)..]
}

/// A logit after a change. One that was finite stays so: only a bias forbids tokens, and nothing makes
/// one certain. One that was infinite stays as it was.
pub(crate) fn bounded(before: f32, after: f32) -> f32 {
    if before.is_finite() { after.clamp(-f32::MAX, f32::MAX) } else { before }
}
