//! What `/set` sets.

use minfer::{Sampling, SettingsError};

use crate::values;

/// How answers are chosen.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// All but the seed, which each answer gets from `seed`.
    pub sampling: Sampling,
    /// The seed of every answer; without one, each gets a new one.
    pub seed: Option<u64>,
    /// The most tokens of an answer.
    pub n_predict: Option<usize>,
}

/// Names, in the order in which they are shown.
pub const NAMES: [&str; 7] = ["temp", "top-k", "top-p", "min-p", "repeat-penalty", "seed", "n-predict"];

/// Why a setting stays as it is.
#[derive(Debug, PartialEq, thiserror::Error)]
pub enum Refused {
    #[error("there is no setting {name:?}: expected one of {}", NAMES.join(", "))]
    Name { name: String },
    #[error("{name} is {found:?}: expected {expected}")]
    Value { name: String, found: String, expected: String },
}

impl Settings {
    /// Sets one by its name; on an error nothing has changed.
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), Refused> {
        let refuse = |expected: &str| Refused::Value {
            name: name.to_owned(),
            found: value.to_owned(),
            expected: expected.to_owned(),
        };
        let number = || value.parse::<f32>().map_err(|_| refuse("a number"));
        let mut new = self.clone();
        match name {
            "temp" => new.sampling.temperature = number()?,
            "top-k" => new.sampling.top_k = value.parse().map_err(|_| refuse("a whole number"))?,
            "top-p" => new.sampling.top_p = number()?,
            "min-p" => new.sampling.min_p = number()?,
            "repeat-penalty" => new.sampling.repeat_penalty = number()?,
            "seed" => new.seed = u64::try_from(values::seed(value).map_err(|e| refuse(&e))?).ok(),
            "n-predict" => {
                let count = value.parse::<i64>().ok().filter(|n| *n >= -2);
                new.n_predict =
                    usize::try_from(count.ok_or_else(|| refuse("a whole number, -1: no limit"))?).ok();
            }
            _ => return Err(Refused::Name { name: name.to_owned() }),
        }
        new.sampling.check().map_err(|SettingsError { expected, .. }| refuse(expected))?;
        *self = new;
        Ok(())
    }

    /// A line for each.
    pub fn shown(&self) -> String {
        let Sampling { temperature, top_k, top_p, min_p, repeat_penalty, .. } = &self.sampling;
        let seed = self.seed.map_or("-1".to_owned(), |seed| seed.to_string());
        let n_predict = self.n_predict.map_or("-1".to_owned(), |n| n.to_string());
        format!(
            "temp {temperature}\ntop-k {top_k}\ntop-p {top_p}\nmin-p {min_p}\nrepeat-penalty {repeat_penalty}\nseed {seed}\n\
             n-predict {n_predict}\n"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain() -> Settings {
        Settings { sampling: Sampling::default(), seed: None, n_predict: None }
    }

    #[test]
    fn every_name_can_be_set_and_shows_what_was_set() {
        for name in NAMES {
            let mut settings = plain();
            settings.set(name, "1").unwrap();
            assert!(settings.shown().lines().any(|line| line == format!("{name} 1")), "{name}");
        }
        assert_eq!(plain().shown().lines().count(), NAMES.len());
        let mut settings = Settings { seed: Some(3), n_predict: Some(4), ..plain() };
        settings.set("seed", "-1").unwrap();
        settings.set("n-predict", "-1").unwrap();
        assert_eq!(settings, plain());
    }

    #[test]
    fn what_makes_no_sense_is_refused_and_changes_nothing() {
        let cases = [
            ("temp", "-1", "0 or more"),
            ("temp", "warm", "a number"),
            ("temp", "nan", "finite"),
            ("top-k", "1.5", "whole"),
            ("top-p", "2", "0 to 1"),
            ("min-p", "-0.1", "0 to 1"),
            ("repeat-penalty", "0", "above 0"),
            ("seed", "-2", "-1 or"),
            ("n-predict", "-3", "whole"),
            ("colour", "red", "temp, top-k"),
        ];
        for (name, value, expected) in cases {
            let mut settings = plain();
            let said = settings.set(name, value).unwrap_err().to_string();
            assert!(said.contains(expected) && said.contains(name), "{said}");
            assert_eq!(settings, plain());
        }
    }
}
