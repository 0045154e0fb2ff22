//! The steps that leave tokens out. Each leaves at least one, and works on what the one before it left.
//!
//! Probabilities are those of the tokens left, at temperature 1: p = e^logit / sum of e^logit. "Sorted"
//! means by probability, the best first, the lower id first among equals; nothing is sorted in fact.

use crate::candidates::Candidates;
use crate::select::Selector;
use crate::vectorized::vectorized;
use crate::weights::{CHUNK, SPAN, Weights, map, padded, sum, weigh};

/// The steps, with the room that they need.
#[derive(Debug, Clone)]
pub(crate) struct Filters {
    pub(crate) candidates: Candidates,
    selector: Selector,
    /// Weights of the candidates.
    weights: Vec<f32>,
    /// What candidates are sorted by where it is not the logit.
    keys: Vec<f32>,
    /// The top choices of `xtc`.
    choices: Vec<u32>,
}

impl Filters {
    pub(crate) fn new() -> Filters {
        Filters {
            candidates: Candidates::default(),
            selector: Selector::new(),
            weights: Vec::new(),
            keys: Vec::new(),
            choices: Vec::new(),
        }
    }

    /// Starts over with all tokens, and sees to it that no step has to make room.
    pub(crate) fn load(&mut self, logits: &[f32]) {
        let count = logits.len();
        self.candidates.load(logits);
        self.selector.reserve(count);
        self.weights.clear();
        self.weights.reserve(count);
        self.keys.clear();
        self.keys.reserve(count);
        self.choices.clear();
        self.choices.reserve(count);
    }

    /// The `k` best tokens.
    pub(crate) fn top_k(&mut self, k: usize) {
        // k chunks have a token as good as the worst of their best ones.
        let chunks = self.candidates.logits().chunks(CHUNK).len();
        if k < chunks {
            self.keys.resize(chunks, 0.0);
            maxima(self.candidates.logits(), &mut self.keys);
            let by_size = |a: &f32, b: &f32| b.partial_cmp(a).expect("logits are no NaN");
            let (_, &mut least, _) = self.keys.select_nth_unstable_by(k - 1, by_size);
            self.candidates.leave_from(least);
        }
        let logits = self.candidates.logits();
        if k < logits.len() {
            self.weights.clear();
            self.weights.extend(logits.iter().map(|&logit| f32::from(logit > f32::NEG_INFINITY)));
            let cut = self.selector.cut(logits, &self.weights, f32::INFINITY, k as f64);
            self.candidates.cut(cut);
        }
    }

    /// The shortest beginning of the sorted tokens whose probabilities sum up to `p` or more: nucleus
    /// sampling (Holtzman and others, "The Curious Case of Neural Text Degeneration", 2019).
    pub(crate) fn top_p(&mut self, p: f32) {
        let max = self.candidates.max();
        let total = self.weigh(max);
        let wanted = f64::from(p) * total;
        // Tokens this light have less than what may go, even all of them together.
        let light = ((total - wanted) * 0.999 / self.weights.len() as f64) as f32;
        if is_sparse(&self.weights, light) {
            self.candidates.leave_by(&self.weights, light);
            self.weigh(max);
        }
        let cut = self.selector.cut(self.candidates.logits(), &self.weights, SPAN, wanted);
        self.candidates.cut(cut);
    }

    /// Tokens with at least `min_p` times the probability of the best: logit >= best logit + ln `min_p`
    /// (Nguyen and others, "Turning Up the Heat: Min-p Sampling for Creative and Coherent LLM Outputs",
    /// 2024).
    pub(crate) fn min_p(&mut self, min_p: f32) {
        let exact = f64::from(self.candidates.max()) + libm::log(min_p.into());
        // The smallest logit that is not below the exact limit.
        let rounded = exact as f32;
        let least = if f64::from(rounded) < exact { rounded.next_up() } else { rounded };
        self.candidates.leave_from(least);
    }

    /// The tokens whose surprise, -ln p, is nearest to its mean, the entropy: the shortest beginning of
    /// the tokens sorted by |-ln p - entropy|, smallest first, whose probabilities sum up to `p` or more
    /// (Meister and others, "Locally Typical Sampling", 2022).
    pub(crate) fn typical(&mut self, p: f32) {
        let max = self.candidates.max();
        let total = self.weigh(max);
        let logits = self.candidates.logits();
        // With d = logit - max, -ln p is ln(sum) - d and the entropy ln(sum) - mean of d: their
        // difference needs no logarithm. The nearest has the largest key; what is left out stays so.
        let mean = (sum_distances(logits, &self.weights, max) / total) as f32;
        self.keys.resize(logits.len(), 0.0);
        set_keys(logits, max, mean, &mut self.keys);
        let cut = self.selector.cut(&self.keys, &self.weights, SPAN, f64::from(p) * total);
        self.candidates.cut_by(&self.keys, cut);
    }

    /// Without its top choices but the last of them: of the sorted tokens with a probability of
    /// `threshold` or more, all but the last go (p-e-w, "Exclude Top Choices", text-generation-webui pull
    /// request 6335, 2024).
    pub(crate) fn xtc(&mut self, threshold: f32) {
        let least = self.weigh(self.candidates.max()) * f64::from(threshold);
        let logits = self.candidates.logits();
        self.choices.clear();
        collect_heavy(&self.weights, least, &mut self.choices);
        self.choices.retain(|&place| logits[place as usize] > f32::NEG_INFINITY);
        // `min_by` takes the first of equals; the last of them comes last when sorted.
        let by_logit = |a: &&u32, b: &&u32| {
            let [a, b] = [a, b].map(|place| logits[**place as usize]);
            a.partial_cmp(&b).expect("logits are no NaN")
        };
        let Some(&last) = self.choices.iter().rev().min_by(by_logit) else { return };
        for &place in self.choices.iter().filter(|&&place| place != last) {
            self.candidates.remove(place as usize);
        }
    }

    /// Weighs the candidates at temperature 1; the sum.
    fn weigh(&mut self, max: f32) -> f64 {
        let logits = self.candidates.logits();
        self.weights.resize(logits.len(), 0.0);
        weigh(logits, Weights::new(max, 1.0), &mut self.weights)
    }
}

vectorized! {
    /// The largest logit of each chunk.
    fn maxima(logits: &[f32], into: &mut [f32]) {
        const LANES: usize = 8;
        for (logits, into) in logits.chunks(CHUNK).zip(into) {
            let logits = padded(logits);
            let mut max = [f32::NEG_INFINITY; LANES];
            for group in 0..CHUNK / LANES {
                for lane in 0..LANES {
                    let logit = logits[group * LANES + lane];
                    max[lane] = if logit > max[lane] { logit } else { max[lane] };
                }
            }
            *into = max.into_iter().fold(f32::NEG_INFINITY, f32::max);
        }
    }
}

vectorized! {
    /// Whether few tokens are not `light`, so that leaving the others out pays.
    fn is_sparse(weights: &[f32], light: f32) -> bool {
        let mut heavy = 0u32;
        for &weight in weights {
            heavy += u32::from(weight >= light);
        }
        (heavy as usize) < weights.len() / 8
    }
}

vectorized! {
    /// The sum of (logit - max) x weight.
    fn sum_distances(logits: &[f32], weights: &[f32], max: f32) -> f64 {
        let mut total = 0.0;
        for (logits, weights) in logits.chunks(CHUNK).zip(weights.chunks(CHUNK)) {
            let mut products = padded(logits);
            for (product, weight) in products.iter_mut().zip(padded(weights)) {
                // A distance without weight may be infinite.
                *product = if weight > 0.0 { (*product - max) * weight } else { 0.0 };
            }
            total += sum(&products);
        }
        total
    }
}

vectorized! {
    /// The larger a key, the more typical its token.
    fn set_keys(logits: &[f32], max: f32, mean: f32, keys: &mut [f32]) {
        for (logits, keys) in logits.chunks(CHUNK).zip(keys.chunks_mut(CHUNK)) {
            let chunk = map(&padded(logits), |logit| -((logit - max) - mean).abs());
            keys.copy_from_slice(&chunk[..keys.len()]);
        }
    }
}

vectorized! {
    /// Appends the places of weights of at least `least`.
    fn collect_heavy(weights: &[f32], least: f64, places: &mut Vec<u32>) {
        for (i, weights) in weights.chunks(CHUNK).enumerate() {
            let mut any = false;
            for &weight in weights {
                any |= f64::from(weight) >= least;
            }
            if any {
                let heavy = (0..).zip(weights).filter(|(_, weight)| f64::from(**weight) >= least);
                places.extend(heavy.map(|(offset, _): (u32, _)| (i * CHUNK) as u32 + offset));
            }
        }
    }
}
