//! From what people type for a model to a file: a path, a known name, a reference to a hub, a URL, or what
//! `minfer list` shows.

use std::path::PathBuf;

use anyhow::{Result, bail};
use fetch::Reference;

use crate::cache::Cache;
use crate::known::{self, Known};
use crate::remote;

/// Where a model comes from that is no file here.
pub enum Source {
    /// A name of the built-in table.
    Known(&'static Known),
    /// `hf:ORG/REPO` or `hf:ORG/REPO:QUANT`.
    Hub(Reference),
    /// `http` or `https`.
    Url(String),
}

impl Source {
    /// What the text means; `None` if it is none of these.
    pub fn of(model: &str) -> Result<Option<Source>> {
        Ok(if model.starts_with("hf:") {
            Some(Source::Hub(model.parse()?))
        } else if model.starts_with("http://") || model.starts_with("https://") {
            Some(Source::Url(model.to_owned()))
        } else {
            known::find(model).map(Source::Known)
        })
    }
}

/// The path of a model, which is fetched if it is not in the cache.
pub fn resolve(model: &str) -> Result<PathBuf> {
    let path = PathBuf::from(model);
    if path.exists() {
        return Ok(path);
    }
    match Source::of(model)? {
        Some(Source::Known(known)) => known::pull(known),
        Some(Source::Hub(reference)) => match remote::cached(&reference)? {
            Some(path) => Ok(path),
            None => remote::pull(&reference, None),
        },
        Some(Source::Url(url)) => remote::pull_url(&url),
        None => match Cache::of_user()?.find(model)? {
            Some(cached) => Ok(cached.path),
            None => bail!(
                "{model:?} is no file and no known name (known: {}; hf:ORG/REPO and URLs are fetched)",
                known::names()
            ),
        },
    }
}
