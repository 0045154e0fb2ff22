//! Fields that all forms share.

use minfer::{GenerateOptions, Sampling};
use serde_json::Value as Json;

use crate::fields::{Fields, wrong};
use crate::{ApiError, Server, foreign, unique};

/// Answers that one request may ask for.
const ANSWERS_MAX: i64 = 128;
/// Texts that may end an answer.
const STOPS_MAX: usize = 64;
/// Tokens that may be told beside the chosen one.
pub(crate) const TOP_MAX: i64 = 20;

/// What all forms share.
pub(crate) struct Common {
    /// Answers to each prompt.
    pub n: usize,
    pub stream: bool,
    /// Whether a stream ends with what it took.
    pub include_usage: bool,
    /// For the first answer; each further one has the next seed.
    pub options: GenerateOptions,
}

impl Common {
    /// Takes the fields.
    pub fn read(fields: &mut Fields, server: &Server) -> Result<Common, ApiError> {
        model(fields, server)?;
        let n = fields.count("n", 1..=ANSWERS_MAX)?.unwrap_or(1);
        let stream = fields.flag("stream")?.unwrap_or(false);
        let mut include_usage = false;
        if let Some(value) = fields.take("stream_options") {
            let mut inner = Fields::of(value, "stream_options")?;
            include_usage = inner.flag("include_usage")?.unwrap_or(false);
            inner.ignore(&["include_obfuscation"]);
            fields.close(inner);
            if !stream {
                return Err(ApiError::field("stream_options", "is only allowed with stream"));
            }
        }
        let sampling = sampling(fields, server)?;
        let stop = stops(fields)?;
        let ignore_eos = fields.flag("ignore_eos")?.unwrap_or(server.options.ignore_eos);
        foreign::take(fields)?;
        let options = GenerateOptions { sampling, stop, ignore_eos, ..GenerateOptions::default() };
        Ok(Common { n, stream, include_usage, options })
    }

    /// Refuses too many answers in all.
    pub fn check_answers(&self, prompts: usize) -> Result<(), ApiError> {
        match self.n * prompts {
            count if count as i64 <= ANSWERS_MAX => Ok(()),
            count => {
                Err(ApiError::field("n", format!("{count} answers in all, expected {ANSWERS_MAX} at most")))
            }
        }
    }
}

/// Takes the model's name; only the one that is here will do.
pub(crate) fn model(fields: &mut Fields, server: &Server) -> Result<(), ApiError> {
    match fields.text("model")? {
        Some(asked) if !server.options.names.contains(&asked) => {
            Err(ApiError::NoModel { asked, here: server.name().to_owned() })
        }
        _ => Ok(()),
    }
}

fn sampling(fields: &mut Fields, server: &Server) -> Result<Sampling, ApiError> {
    let mut sampling = server.options.sampling.clone();
    sampling.seed = match fields.integer("seed", i64::MIN..=i64::MAX)? {
        None | Some(-1) => server.options.seed.unwrap_or_else(unique::seed),
        // Negative ones are seeds too.
        Some(seed) => seed as u64,
    };
    let numbers = [
        ("temperature", &mut sampling.temperature),
        ("top_p", &mut sampling.top_p),
        ("min_p", &mut sampling.min_p),
        ("typical_p", &mut sampling.typical_p),
        ("xtc_probability", &mut sampling.xtc_probability),
        ("xtc_threshold", &mut sampling.xtc_threshold),
        ("presence_penalty", &mut sampling.presence_penalty),
        ("frequency_penalty", &mut sampling.frequency_penalty),
        ("repeat_penalty", &mut sampling.repeat_penalty),
    ];
    for (field, value) in numbers {
        if let Some(number) = fields.number(field)? {
            *value = number;
        }
    }
    for (field, value) in [("top_k", &mut sampling.top_k), ("repeat_last_n", &mut sampling.repeat_last_n)] {
        if let Some(number) = fields.integer(field, -1..=i64::from(i32::MAX))? {
            *value = number as i32;
        }
    }
    if let Some(value) = fields.take("logit_bias") {
        sampling.logit_bias = logit_bias(value, server.engine.model().config().n_vocab)?;
    }
    sampling.check().map_err(|error| ApiError::of(error.into(), "prompt"))?;
    Ok(sampling)
}

fn logit_bias(value: Json, n_vocab: usize) -> Result<Vec<(u32, f32)>, ApiError> {
    let Json::Object(map) = value else { return Err(wrong("logit_bias", "an object", &value)) };
    let one = |(id, bias): (String, Json)| {
        let field = || format!("logit_bias.{id}");
        let token = id.parse().ok().filter(|id: &u32| (*id as usize) < n_vocab);
        let token = token.ok_or_else(|| {
            ApiError::field(field(), format!("expected the number of a token, 0 to {}", n_vocab - 1))
        })?;
        match bias.as_f64() {
            Some(number) if (-100.0..=100.0).contains(&number) => Ok((token, number as f32)),
            _ => Err(wrong(&field(), "a number from -100 to 100", &bias)),
        }
    };
    map.into_iter().map(one).collect()
}

fn stops(fields: &mut Fields) -> Result<Vec<String>, ApiError> {
    let values = match fields.take("stop") {
        None => return Ok(Vec::new()),
        Some(Json::Array(values)) => values,
        Some(value @ Json::String(_)) => vec![value],
        Some(other) => return Err(wrong("stop", "a string or a list of strings", &other)),
    };
    if values.len() > STOPS_MAX {
        return Err(ApiError::field("stop", format!("{} texts, expected {STOPS_MAX} at most", values.len())));
    }
    let one = |(index, value)| match value {
        Json::String(text) if text.is_empty() => {
            Err(ApiError::field("stop", format!("text {index} is empty")))
        }
        Json::String(text) => Ok(text),
        other => Err(wrong(&format!("stop[{index}]"), "a string", &other)),
    };
    values.into_iter().enumerate().map(one).collect()
}
