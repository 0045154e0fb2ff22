//! All steps in their order.

use crate::filters::Filters;
use crate::settings::TEMPERATURE_MIN;
use crate::top::argmax;
use crate::weights::{Weights, draw};
use crate::{SampleError, Settings, SettingsError, dry, penalties, random};

/// Chooses tokens by one [`Settings`], without allocating after the first unless the vocabulary or DRY's
/// part of the history grows. Up to 36 bytes a token of the vocabulary are reserved, of which each step
/// touches what it needs.
///
/// A choice is a function of logits, settings, history and position, whatever was chosen before.
///
/// ```
/// use sample::{Sampler, Settings};
///
/// let mut sampler = Sampler::new(Settings { temperature: 0.8, top_k: 2, seed: 7, ..Settings::default() })?;
/// let token = sampler.sample(&[1.0, 5.0, -2.0, 4.5], &[0, 2], 0)?;
/// assert!(token == 1 || token == 3);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Sampler {
    settings: Settings,
    filters: Filters,
    /// A number for each token, 0 between steps.
    marks: Vec<u32>,
    /// Lengths of repetitions.
    lengths: Vec<u32>,
    /// Weights of chunks.
    sums: Vec<f64>,
}

impl Sampler {
    /// Refuses settings out of their range.
    pub fn new(mut settings: Settings) -> Result<Sampler, SettingsError> {
        settings.check()?;
        dry::sort(&mut settings.dry_sequence_breakers);
        Ok(Sampler {
            settings,
            filters: Filters::new(),
            marks: Vec::new(),
            lengths: Vec::new(),
            sums: Vec::new(),
        })
    }

    /// The settings, with the sequence breakers in an order of their own.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Chooses a token for `position`, the place that it will take; with the seed, that says which random
    /// numbers are used.
    ///
    /// `logits` has one entry a token of the vocabulary. `history` holds the tokens before this one,
    /// prompt and answer; only penalties look at it. Of tokens equally good, temperature 0 takes the one
    /// with the lowest id. A logit of plus infinity leaves only tokens with such a logit, equally likely;
    /// minus infinity forbids its token.
    pub fn sample(&mut self, logits: &[f32], history: &[u32], position: u64) -> Result<u32, SampleError> {
        let settings = &self.settings;
        let mut best = argmax(logits)?;
        let is_greedy = settings.temperature < TEMPERATURE_MIN;
        let changes_logits = changes_logits(settings);
        if is_greedy && !changes_logits {
            return Ok(best);
        }
        let at = random::uniform(settings.seed, position);
        if !changes_logits && !has_filter(settings) && logits[best as usize] < f32::INFINITY {
            let weights = Weights::new(logits[best as usize], settings.temperature);
            return Ok(draw(logits, weights, at, &mut self.sums) as u32);
        }
        self.filters.load(logits);
        if changes_logits {
            self.change_logits(history)?;
            best = argmax(self.filters.candidates.logits())?;
        }
        if is_greedy {
            return Ok(best);
        }
        self.level_infinite(best);
        self.filter(position);
        let candidates = &self.filters.candidates;
        let weights = Weights::new(candidates.max(), self.settings.temperature);
        Ok(candidates.id(draw(candidates.logits(), weights, at, &mut self.sums)))
    }

    fn change_logits(&mut self, history: &[u32]) -> Result<(), SampleError> {
        let settings = &self.settings;
        let logits = self.filters.candidates.logits_mut();
        penalties::add_bias(logits, &settings.logit_bias)?;
        if penalizes(settings) || settings.dry_multiplier > 0.0 {
            self.marks.resize(logits.len(), 0);
        }
        if penalizes(settings) {
            penalties::penalize(logits, settings, history, &mut self.marks);
        }
        if settings.dry_multiplier > 0.0 {
            dry::penalize(logits, settings, history, &mut self.marks, &mut self.lengths);
        }
        Ok(())
    }

    /// Infinity less infinity is no number: tokens that are certain get the logit 0, others none.
    fn level_infinite(&mut self, best: u32) {
        let logits = self.filters.candidates.logits_mut();
        if logits[best as usize] == f32::INFINITY {
            for logit in logits {
                *logit = if *logit == f32::INFINITY { 0.0 } else { f32::NEG_INFINITY };
            }
        }
    }

    fn filter(&mut self, position: u64) {
        let (settings, filters) = (&self.settings, &mut self.filters);
        if let Ok(k @ 1..) = usize::try_from(settings.top_k) {
            filters.top_k(k);
        }
        if settings.typical_p < 1.0 {
            filters.typical(settings.typical_p);
        }
        if settings.top_p < 1.0 {
            filters.top_p(settings.top_p);
        }
        if settings.min_p > 0.0 {
            filters.min_p(settings.min_p);
        }
        if random::uniform_second(settings.seed, position) < settings.xtc_probability.into() {
            filters.xtc(settings.xtc_threshold);
        }
    }
}

fn changes_logits(settings: &Settings) -> bool {
    penalizes(settings) || settings.dry_multiplier > 0.0 || !settings.logit_bias.is_empty()
}

fn penalizes(settings: &Settings) -> bool {
    settings.repeat_penalty != 1.0 || settings.presence_penalty != 0.0 || settings.frequency_penalty != 0.0
}

fn has_filter(settings: &Settings) -> bool {
    settings.top_k > 0
        || settings.typical_p < 1.0
        || settings.top_p < 1.0
        || settings.min_p > 0.0
        || settings.xtc_probability > 0.0
}
