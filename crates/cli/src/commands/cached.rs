//! `minfer list` and `minfer rm`: the models in the cache.

use std::collections::BTreeMap;
use std::fmt::Write;

use anyhow::{Result, bail};
use gguf::GgufFile;
use serde_json::{Value as Json, json};

use super::{JSON_VERSION, print_json, print_text};
use crate::args::{ListArgs, RmArgs};
use crate::cache::{Cache, Cached};
use crate::models::Source;
use crate::remote;

pub fn list(args: ListArgs) -> Result<()> {
    let cache = Cache::of_user()?;
    let models = cache.list()?;
    let described: Vec<_> = models.iter().map(|cached| (cached, Described::of(cached))).collect();
    if args.json {
        let row = |(cached, found): &(&Cached, Described)| {
            json!({
                "name": cached.name,
                "path": cached.path,
                "bytes": cached.bytes,
                "complete": cached.complete,
                "architecture": found.architecture,
                "quant": found.quant,
            })
        };
        let rows: Vec<Json> = described.iter().map(row).collect();
        return print_json(&json!({"version": JSON_VERSION, "folder": cache.folder, "models": rows}));
    }
    let mut out = String::new();
    let width = models.iter().map(|cached| cached.name.chars().count()).max().unwrap_or(0);
    for (cached, found) in &described {
        let text = |value: &Option<String>| value.clone().unwrap_or_else(|| "-".to_owned());
        let note = if cached.complete { "" } else { "  (unfinished)" };
        writeln!(
            out,
            "{:<width$}  {:>9}  {:<8}  {:<8}  {}{note}",
            cached.name,
            size(cached.bytes),
            text(&found.quant),
            text(&found.architecture),
            cached.path.display()
        )?;
    }
    if models.is_empty() {
        writeln!(out, "no models in {}", cache.folder.display())?;
    }
    print_text(&out)
}

pub fn remove(args: RmArgs) -> Result<()> {
    let cache = Cache::of_user()?;
    let path = match Source::of(&args.name)? {
        Some(Source::Hub(reference)) => remote::cached(&reference)?,
        Some(Source::Url(url)) => Some(remote::url_path(&url)?),
        Some(Source::Known(known)) => Some(cache.folder.join(known.file)),
        None => cache.find(&args.name)?.map(|cached| cached.path),
    };
    let models = cache.list()?;
    let Some(cached) = models.iter().find(|cached| Some(&cached.path) == path.as_ref()) else {
        let names: Vec<&str> = models.iter().map(|cached| cached.name.as_str()).collect();
        let names = if names.is_empty() { "nothing".to_owned() } else { names.join(", ") };
        bail!("{:?} is not in {}; there is {names}", args.name, cache.folder.display());
    };
    cache.remove(cached)
}

/// What a file says about itself, as far as it can be read.
struct Described {
    architecture: Option<String>,
    quant: Option<String>,
}

impl Described {
    fn of(cached: &Cached) -> Described {
        let file = GgufFile::open(&cached.path).ok().filter(|_| cached.complete);
        let string =
            |file: &GgufFile| Some(file.metadata().get_str("general.architecture").ok()??.to_owned());
        Described { architecture: file.as_ref().and_then(string), quant: file.as_ref().and_then(quant) }
    }
}

/// The recipe that the file names, or else the type that most of its bytes have.
fn quant(file: &GgufFile) -> Option<String> {
    let number = file.metadata().get_u32("general.file_type").ok().flatten();
    let recipe = number.and_then(|number| RECIPES.iter().find(|(n, _)| *n == number));
    if let Some((_, name)) = recipe {
        return Some((*name).to_owned());
    }
    let mut bytes: BTreeMap<&str, u64> = BTreeMap::new();
    for tensor in file.tensors() {
        *bytes.entry(tensor.ty.name()).or_default() += tensor.bytes;
    }
    bytes.into_iter().max_by_key(|(_, bytes)| *bytes).map(|(name, _)| name.to_owned())
}

/// Numbers of `general.file_type`.
const RECIPES: [(u32, &str); 32] = [
    (0, "F32"),
    (1, "F16"),
    (2, "Q4_0"),
    (3, "Q4_1"),
    (7, "Q8_0"),
    (8, "Q5_0"),
    (9, "Q5_1"),
    (10, "Q2_K"),
    (11, "Q3_K_S"),
    (12, "Q3_K_M"),
    (13, "Q3_K_L"),
    (14, "Q4_K_S"),
    (15, "Q4_K_M"),
    (16, "Q5_K_S"),
    (17, "Q5_K_M"),
    (18, "Q6_K"),
    (19, "IQ2_XXS"),
    (20, "IQ2_XS"),
    (21, "Q2_K_S"),
    (22, "IQ3_XS"),
    (23, "IQ3_XXS"),
    (24, "IQ1_S"),
    (25, "IQ4_NL"),
    (26, "IQ3_S"),
    (27, "IQ3_M"),
    (28, "IQ2_S"),
    (29, "IQ2_M"),
    (30, "IQ4_XS"),
    (31, "IQ1_M"),
    (32, "BF16"),
    (36, "TQ1_0"),
    (37, "TQ2_0"),
];

fn size(bytes: u64) -> String {
    match bytes {
        0..1_000_000 => format!("{:.1} kB", bytes as f64 / 1e3),
        1_000_000..1_000_000_000 => format!("{:.1} MB", bytes as f64 / 1e6),
        _ => format!("{:.2} GB", bytes as f64 / 1e9),
    }
}
