//! Values of flags: read from text, refused with what was expected.

use std::path::PathBuf;
use std::time::Duration;

use minfer::{DType, GraphFormat, Isa, KV_TYPES, Normalize, Pooling, RopeScalingKind};

/// Where a graph is to be written, and how.
#[derive(Clone)]
pub struct GraphFile {
    pub path: PathBuf,
    pub format: GraphFormat,
}

pub fn graph_file(name: &str) -> Result<GraphFile, String> {
    let path = PathBuf::from(name);
    let format = match path.extension().and_then(|e| e.to_str()) {
        Some("dot") => GraphFormat::Dot,
        Some("json") => GraphFormat::Json,
        Some("txt") => GraphFormat::Text,
        _ => return Err("expected a name that ends in .dot, .json or .txt".to_owned()),
    };
    Ok(GraphFile { path, format })
}

pub fn kv_type(name: &str) -> Result<DType, String> {
    let found = KV_TYPES.into_iter().find(|t| t.name().eq_ignore_ascii_case(name));
    found.ok_or_else(|| format!("expected one of {}", kv_types()))
}

pub fn kv_type_help() -> String {
    format!("Type of cached keys and values: {} [default: f16]", kv_types())
}

fn kv_types() -> String {
    KV_TYPES.map(|t| t.name().to_lowercase()).join(", ")
}

pub fn isa_help() -> String {
    let names: Vec<_> = Isa::ALL.iter().map(|isa| isa.name()).collect();
    let names = names.join(", ");
    format!("Kernels to use: {names} [default: the best that this machine has; no choice changes an answer]")
}

/// The version of the program, and the kernels that this machine gets.
pub fn version() -> String {
    format!("{} (kernels: {})", env!("CARGO_PKG_VERSION"), Isa::detect())
}

pub fn at_least_one(text: &str) -> Result<usize, String> {
    text.parse().ok().filter(|n| *n > 0).ok_or_else(|| "expected a whole number, 1 or more".to_owned())
}

/// `2G`, `500M`, `4096`: thousands, millions and billions of bytes.
pub fn bytes(text: &str) -> Result<u64, String> {
    let (number, factor) = match text.char_indices().next_back() {
        Some((at, 'k' | 'K')) => (&text[..at], 1_000),
        Some((at, 'm' | 'M')) => (&text[..at], 1_000_000),
        Some((at, 'g' | 'G')) => (&text[..at], 1_000_000_000),
        _ => (text, 1),
    };
    let bytes = number.parse().ok().and_then(|n: u64| n.checked_mul(factor)).filter(|n| *n > 0);
    bytes.ok_or_else(|| "expected a whole number of bytes, with K, M or G after it or not".to_owned())
}

/// `2GiB`, `500MB`, `1.5G`: with B after the letter powers of 1000, else powers of 1024.
pub fn size(text: &str) -> Result<u64, String> {
    let at = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(at);
    let factor = match unit.trim_start().to_ascii_lowercase().as_str() {
        "" | "b" => Some(1),
        "k" | "kib" => Some(1 << 10),
        "m" | "mib" => Some(1 << 20),
        "g" | "gib" => Some(1 << 30),
        "t" | "tib" => Some(1 << 40),
        "kb" => Some(1_000),
        "mb" => Some(1_000_000),
        "gb" => Some(1_000_000_000),
        "tb" => Some(1_000_000_000_000_u64),
        _ => None,
    };
    let bytes = factor.and_then(|factor| Some(number.parse::<f64>().ok()? * factor as f64));
    let bytes = bytes.filter(|bytes| (1.0..u64::MAX as f64).contains(bytes));
    bytes.map(|bytes| bytes as u64).ok_or_else(|| "expected a size as in 2GiB, 500MB or 1.5G".to_owned())
}

pub fn at_least_0(text: &str) -> Result<f32, String> {
    let number = text.parse().ok().filter(|t: &f32| t.is_finite() && *t >= 0.0);
    number.ok_or_else(|| "expected a finite number, 0 or more".to_owned())
}

/// A time, above 0 and of a year at most.
pub fn seconds(text: &str) -> Result<Duration, String> {
    let number = text.parse().ok().filter(|s: &f64| *s > 0.0 && *s <= 31_536_000.0);
    number.map(Duration::from_secs_f64).ok_or_else(|| "expected seconds, more than 0".to_owned())
}

/// A scheme, a host and perhaps a port, as browsers write them; or `*`.
pub fn origin(text: &str) -> Result<String, String> {
    let host = text.split_once("://").filter(|(scheme, _)| !scheme.is_empty()).map(|(_, host)| host);
    let plain = |c: char| c.is_ascii_graphic() && !c.is_ascii_uppercase() && !"/?#@,*".contains(c);
    match host {
        _ if text == "*" => Ok(text.to_owned()),
        Some(host) if !host.is_empty() && host.chars().all(plain) => Ok(text.to_owned()),
        _ => {
            Err("expected * or an origin as in https://example.com:8443, in small letters and without a path"
                .to_owned())
        }
    }
}

pub fn rope_scaling(name: &str) -> Result<RopeScalingKind, String> {
    RopeScalingKind::from_name(name).ok_or_else(|| "expected none, linear or yarn".to_owned())
}

pub fn pooling(name: &str) -> Result<Pooling, String> {
    let made = Pooling::from_name(name).filter(|pooling| *pooling != Pooling::Rank);
    made.ok_or_else(|| "expected mean, cls or last".to_owned())
}

pub fn normalize(text: &str) -> Result<Normalize, String> {
    let number = text.parse().ok().and_then(Normalize::from_number);
    number.ok_or_else(|| "expected -1, 0, 1, 2 or another exponent".to_owned())
}

/// `15043+1.5`, `15043-inf`: a token and what is added to its logit.
pub fn logit_bias(text: &str) -> Result<(u32, f32), String> {
    let parsed = text.find(['+', '-']).and_then(|at| {
        let (id, bias) = text.split_at(at);
        Some((id.parse().ok()?, bias.parse().ok()?))
    });
    parsed.ok_or_else(|| "expected a token id and a number with its sign, as in 15043-1.5".to_owned())
}

/// -1, or any number of 64 bits.
pub fn seed(text: &str) -> Result<i128, String> {
    let number = text.parse().ok().filter(|n| (-1..=i128::from(u64::MAX)).contains(n));
    number.ok_or_else(|| format!("expected -1 or a whole number up to {}", u64::MAX))
}

/// One of a list of ids, as people write lists; whether the model has it is asked later.
pub fn token_number(text: &str) -> Result<i64, String> {
    text.trim().parse().map_err(|_| "expected token ids with commas between them".to_owned())
}
