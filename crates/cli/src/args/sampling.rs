//! How tokens are chosen; names and defaults are llama.cpp's.

use clap::error::ErrorKind;
use clap::{Args, CommandFactory};
use minfer::Sampling;

use super::Cli;
use crate::values;

/// Texts that no repetition reaches across, if none are given.
const BREAKERS: [&str; 4] = ["\n", ":", "\"", "*"];

#[derive(Args)]
#[command(next_help_heading = "Sampling")]
pub struct SamplingArgs {
    /// Temperature; 0 takes the best token every time
    #[arg(
        long,
        visible_alias = "temperature",
        allow_negative_numbers = true,
        default_value_t = 0.8,
        value_parser = values::at_least_0,
        value_name = "T"
    )]
    pub temp: f32,
    /// Seed of the choices; -1: a new one, which is shown
    #[arg(
        short,
        long,
        allow_negative_numbers = true,
        default_value = "-1",
        value_parser = values::seed,
        value_name = "N"
    )]
    pub seed: i128,
    /// So many of the best tokens stay; 0: all
    #[arg(long, allow_negative_numbers = true, default_value_t = 40, value_name = "N")]
    pub top_k: i32,
    /// The best tokens stay that have this share of the probability; 1: all
    #[arg(long, allow_negative_numbers = true, default_value_t = 0.95, value_name = "P")]
    pub top_p: f32,
    /// Tokens stay that are at least so likely, as a share of the best; 0: all
    #[arg(long, allow_negative_numbers = true, default_value_t = 0.05, value_name = "P")]
    pub min_p: f32,
    /// The most typical tokens stay that have this share of the probability; 1: all
    #[arg(
        long,
        visible_alias = "typical-p",
        allow_negative_numbers = true,
        default_value_t = 1.0,
        value_name = "P"
    )]
    pub typical: f32,
    /// Divides what speaks for a token that was there; 1: off
    #[arg(long, allow_negative_numbers = true, default_value_t = 1.0, value_name = "X")]
    pub repeat_penalty: f32,
    /// Taken off a token that was there; 0: off
    #[arg(long, allow_negative_numbers = true, default_value_t = 0.0, value_name = "X")]
    pub presence_penalty: f32,
    /// Taken off a token for each time that it was there; 0: off
    #[arg(long, allow_negative_numbers = true, default_value_t = 0.0, value_name = "X")]
    pub frequency_penalty: f32,
    /// How many of the latest tokens the three penalties see; 0: none, -1: all
    #[arg(long, allow_negative_numbers = true, default_value_t = 64, value_name = "N")]
    pub repeat_last_n: i32,
    /// Penalty of a token that goes on with a repetition; 0: off
    #[arg(long, allow_negative_numbers = true, default_value_t = 0.0, value_name = "X")]
    pub dry_multiplier: f32,
    /// What that penalty grows by with each token of the repetition
    #[arg(long, allow_negative_numbers = true, default_value_t = 1.75, value_name = "X")]
    pub dry_base: f32,
    /// Repetitions shorter than this cost nothing
    #[arg(long, default_value_t = 2, value_name = "N")]
    pub dry_allowed_length: u32,
    /// How many of the latest tokens are searched for repetitions; 0: none, -1: all
    #[arg(long, allow_negative_numbers = true, default_value_t = -1, value_name = "N")]
    pub dry_penalty_last_n: i32,
    /// Text that no repetition reaches across, again for more; none: no such text [default: a newline, a colon, a
    /// quotation mark, an asterisk]
    #[arg(long, allow_hyphen_values = true, value_name = "TEXT")]
    pub dry_sequence_breaker: Vec<String>,
    /// How often the likeliest of several likely tokens are left out; 0: off
    #[arg(long, allow_negative_numbers = true, default_value_t = 0.0, value_name = "P")]
    pub xtc_probability: f32,
    /// From which probability a token counts as likely there
    #[arg(long, allow_negative_numbers = true, default_value_t = 0.1, value_name = "P")]
    pub xtc_threshold: f32,
    /// Makes a token likelier or less likely, again for more: 15043+1, 15043-0.5, 15043-inf
    #[arg(short, long, value_parser = values::logit_bias, value_name = "ID+/-X")]
    pub logit_bias: Vec<(u32, f32)>,
    /// Never choose a token that ends the answer
    #[arg(long)]
    pub ignore_eos: bool,
}

impl SamplingArgs {
    /// The settings without sequence breakers, which need a model. What makes no sense is a wrong command line: the
    /// process ends.
    pub fn settings(&self, seed: u64) -> Sampling {
        let refuse = |kind, why: String| -> ! { Cli::command().error(kind, why).exit() };
        let settings = Sampling {
            temperature: self.temp,
            seed,
            top_k: self.top_k,
            top_p: self.top_p,
            min_p: self.min_p,
            typical_p: self.typical,
            repeat_penalty: self.repeat_penalty,
            presence_penalty: self.presence_penalty,
            frequency_penalty: self.frequency_penalty,
            repeat_last_n: self.repeat_last_n,
            dry_multiplier: self.dry_multiplier,
            dry_base: self.dry_base,
            dry_allowed_length: self.dry_allowed_length,
            dry_penalty_last_n: self.dry_penalty_last_n,
            dry_sequence_breakers: Vec::new(),
            xtc_probability: self.xtc_probability,
            xtc_threshold: self.xtc_threshold,
            logit_bias: self.logit_bias.clone(),
        };
        if let Err(error) = settings.check() {
            let flag = match error.field {
                "temperature" => "temp".to_owned(),
                "typical_p" => "typical".to_owned(),
                field => field.replace('_', "-"),
            };
            let (found, expected) = (&error.found, error.expected);
            refuse(
                ErrorKind::ValueValidation,
                format!("invalid value '{found}' for '--{flag}': expected {expected}"),
            );
        }
        settings
    }

    /// Texts that no repetition reaches across, if that matters at all.
    pub fn breakers(&self) -> Vec<&str> {
        let given: Vec<&str> = self.dry_sequence_breaker.iter().map(String::as_str).collect();
        match given[..] {
            _ if self.dry_multiplier == 0.0 => Vec::new(),
            [] => BREAKERS.to_vec(),
            _ => given.into_iter().filter(|text| *text != "none").collect(),
        }
    }
}
