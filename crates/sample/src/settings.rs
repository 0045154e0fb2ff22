//! What a request may ask for, with its limits.

/// How a token is chosen. The default takes the best token, always.
///
/// The steps run in the order of llama.cpp's default chain: bias, penalties and DRY change logits;
/// then `top_k`, `typical_p`, `top_p`, `min_p` and XTC leave tokens out, each from what the one before
/// it left and at temperature 1; at last the temperature, and a draw. Each step leaves at least one
/// token. [`crate::Sampler`] says what each of them computes.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// What logits are divided by; 0 (or less than [`TEMPERATURE_MIN`]) takes the best token after bias,
    /// penalties and DRY, whatever else is set.
    pub temperature: f32,
    /// Which of all possible texts this one is.
    pub seed: u64,
    /// How many of the best tokens stay; 0 or less is off.
    pub top_k: i32,
    /// The share of the probability that the best tokens which stay have; 1 is off, 0 leaves one token.
    pub top_p: f32,
    /// The least probability of a token, as a share of the best one's; 0 is off, 1 leaves the best and
    /// its equals.
    pub min_p: f32,
    /// The share of the probability that the most typical tokens which stay have; 1 is off, 0 leaves one.
    pub typical_p: f32,
    /// What logits of tokens seen are divided by (multiplied if negative); 1 is off.
    pub repeat_penalty: f32,
    /// What is taken off the logit of a token seen; 0 is off.
    pub presence_penalty: f32,
    /// What is taken off the logit of a token, once for each time it was seen; 0 is off.
    pub frequency_penalty: f32,
    /// How many of the latest tokens the three penalties look at; 0 is off, -1 all.
    pub repeat_last_n: i32,
    /// The penalty of a token that makes a repetition one longer than allowed; 0 turns DRY off.
    pub dry_multiplier: f32,
    /// What the penalty grows by with each further token of the repetition.
    pub dry_base: f32,
    /// Repetitions shorter than this cost nothing.
    pub dry_allowed_length: u32,
    /// How many of the latest tokens DRY looks at; 0 is off, -1 all.
    pub dry_penalty_last_n: i32,
    /// Runs of tokens that no repetition reaches across.
    pub dry_sequence_breakers: Vec<Vec<u32>>,
    /// How often XTC acts; 0 is off.
    pub xtc_probability: f32,
    /// The probability from which a token counts as a top choice for XTC; above 0.5 is off.
    pub xtc_threshold: f32,
    /// What is added to logits of these tokens; minus infinity forbids a token.
    pub logit_bias: Vec<(u32, f32)>,
}

impl Default for Settings {
    /// The best token, always. Fields that only say how a step works have llama.cpp's values.
    fn default() -> Self {
        Settings {
            temperature: 0.0,
            seed: 0,
            top_k: 0,
            top_p: 1.0,
            min_p: 0.0,
            typical_p: 1.0,
            repeat_penalty: 1.0,
            presence_penalty: 0.0,
            frequency_penalty: 0.0,
            repeat_last_n: 64,
            dry_multiplier: 0.0,
            dry_base: 1.75,
            dry_allowed_length: 2,
            dry_penalty_last_n: -1,
            dry_sequence_breakers: Vec::new(),
            xtc_probability: 0.0,
            xtc_threshold: 0.1,
            logit_bias: Vec::new(),
        }
    }
}

/// Temperatures below this are 0: a logit would have to be within a ten-thousandth of the best one
/// for its token to have a chance, which is far below what logits are worth.
pub const TEMPERATURE_MIN: f32 = 1e-5;

/// A setting that makes no sense.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{field} is {found}; expected {expected}")]
pub struct SettingsError {
    /// The field of [`Settings`].
    pub field: &'static str,
    /// Its value.
    pub found: String,
    /// What it may be.
    pub expected: &'static str,
}

impl Settings {
    /// Refuses values outside their range, and values that are no number.
    pub fn check(&self) -> Result<(), SettingsError> {
        let at_least_0 = |value: f32| value.is_finite() && value >= 0.0;
        let share = |value: f32| (0.0..=1.0).contains(&value);
        let within = |field, value: f32, valid, expected| check(field, value, valid, expected);
        const AT_LEAST_0: &str = "a finite number, 0 or more";
        const SHARE: &str = "a number from 0 to 1";
        within("temperature", self.temperature, at_least_0(self.temperature), AT_LEAST_0)?;
        within("top_p", self.top_p, share(self.top_p), SHARE)?;
        within("min_p", self.min_p, share(self.min_p), SHARE)?;
        within("typical_p", self.typical_p, share(self.typical_p), SHARE)?;
        let positive = self.repeat_penalty.is_finite() && self.repeat_penalty > 0.0;
        within("repeat_penalty", self.repeat_penalty, positive, "a finite number above 0")?;
        let (presence, frequency) = (self.presence_penalty, self.frequency_penalty);
        within("presence_penalty", presence, presence.is_finite(), "a finite number")?;
        within("frequency_penalty", frequency, frequency.is_finite(), "a finite number")?;
        const LAST_N: &str = "-1 or more";
        check("repeat_last_n", self.repeat_last_n, self.repeat_last_n >= -1, LAST_N)?;
        within("dry_multiplier", self.dry_multiplier, at_least_0(self.dry_multiplier), AT_LEAST_0)?;
        let grows = self.dry_base.is_finite() && self.dry_base >= 1.0;
        within("dry_base", self.dry_base, grows, "a finite number, 1 or more")?;
        check("dry_penalty_last_n", self.dry_penalty_last_n, self.dry_penalty_last_n >= -1, LAST_N)?;
        let empty = self.dry_sequence_breakers.iter().any(Vec::is_empty);
        check("dry_sequence_breakers", "a list with an empty sequence", !empty, "tokens in each sequence")?;
        within("xtc_probability", self.xtc_probability, share(self.xtc_probability), SHARE)?;
        within("xtc_threshold", self.xtc_threshold, share(self.xtc_threshold), SHARE)?;
        for &(_, bias) in &self.logit_bias {
            let valid = bias.is_finite() || bias == f32::NEG_INFINITY;
            within("logit_bias", bias, valid, "finite numbers or minus infinity")?;
        }
        Ok(())
    }
}

fn check(
    field: &'static str,
    value: impl ToString,
    valid: bool,
    expected: &'static str,
) -> Result<(), SettingsError> {
    if valid { Ok(()) } else { Err(SettingsError { field, found: value.to_string(), expected }) }
}
