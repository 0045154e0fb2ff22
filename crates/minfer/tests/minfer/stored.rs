//! Answers of an independent engine, and how far ours are from them.

use serde::Deserialize;

use crate::common::Answer;

/// One prompt and what the other engine said of it.
#[derive(Deserialize)]
pub struct Prompt {
    /// The text; random prompts have none.
    #[serde(default)]
    pub prompt: String,
    /// Its ids.
    pub tokens: Vec<u32>,
    /// Weights dequantized to f32, an f32 cache: no rounding of activations.
    pub exact: Stored,
    /// The quantized file with activations rounded to 8 bits and an f32 cache.
    pub strict: Option<Stored>,
    /// The quantized file as people run it.
    pub default: Option<Stored>,
}

/// The other engine's answer in one mode.
#[derive(Deserialize)]
pub struct Stored {
    /// Sum of negative log likelihoods.
    pub prompt_nll_sum: f64,
    /// The ten best ids with their logits after the last token.
    pub top10: Vec<(u32, f32)>,
    /// The best token, and again after it.
    #[serde(default)]
    pub greedy: Vec<u32>,
    /// How far the second best was behind, at each step.
    #[serde(default)]
    pub margins: Vec<f32>,
}

/// How far one answer is from the stored exact one.
pub struct Distance {
    /// Our logit minus the stored one, for each of the stored ten best.
    pub logits: Vec<f32>,
    /// Difference of the sums of negative log likelihoods, as a part of the stored sum.
    pub nll_relative: f64,
    /// The same difference for each scored token.
    pub nll_a_token: f64,
    /// The stored margin at the first greedy token that differs; 0 if none does.
    pub margin: f32,
}

impl Distance {
    pub fn new(answer: &Answer, prompt: &Prompt) -> Distance {
        let exact = &prompt.exact;
        let nll = answer.nll_sum - exact.prompt_nll_sum;
        let differs = answer.greedy.iter().zip(&exact.greedy).position(|(ours, theirs)| ours != theirs);
        Distance {
            logits: exact.top10.iter().map(|(id, logit)| answer.logits[*id as usize] - logit).collect(),
            nll_relative: nll.abs() / exact.prompt_nll_sum,
            nll_a_token: nll / (prompt.tokens.len() - 1) as f64,
            margin: differs.map_or(0.0, |step| exact.margins[step]),
        }
    }

    /// The largest difference of a logit.
    pub fn worst(&self) -> f32 {
        worst(&self.logits)
    }

    /// The same after taking off the mean difference, which changes no choice.
    pub fn worst_centred(&self) -> f32 {
        let mean = self.logits.iter().sum::<f32>() / self.logits.len() as f32;
        self.logits.iter().map(|d| (d - mean).abs()).fold(0.0, f32::max)
    }
}

/// The largest absolute value.
pub fn worst(differences: &[f32]) -> f32 {
    differences.iter().map(|d| d.abs()).fold(0.0, f32::max)
}

/// The mean of the absolute values.
pub fn mean(differences: &[f32]) -> f32 {
    differences.iter().map(|d| d.abs()).sum::<f32>() / differences.len() as f32
}

/// Our differences and those of another mode of the other engine, both from its exact run, over the ids
/// that are among the ten best of both its runs: the others' logits were not stored.
pub fn beside(answer: &Answer, exact: &Stored, mode: &Stored) -> (Vec<f32>, Vec<f32>) {
    let pairs = exact.top10.iter().filter_map(|(id, logit)| {
        let (_, other) = mode.top10.iter().find(|(other, _)| other == id)?;
        Some((answer.logits[*id as usize] - logit, other - logit))
    });
    pairs.unzip()
}
