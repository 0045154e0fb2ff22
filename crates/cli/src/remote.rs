//! Models from hubs and URLs, brought into the cache.

use std::collections::BTreeMap;
use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use fetch::{Client, Options, Reference, RemoteFile};
use sha2::{Digest, Sha256};

use crate::cache::Cache;
use crate::progress::Progress;
use crate::tell;

/// The file beside a repository's models that says which of them each QUANT meant.
pub const NOTE: &str = "refs.json";

/// Files by QUANT, in upper case; empty without one.
type Note = BTreeMap<String, Vec<String>>;

/// The first file of what a reference meant when it was last fetched, if all of it is still there. Asks nobody.
pub fn cached(reference: &Reference) -> Result<Option<PathBuf>> {
    let folder = hub_folder(reference)?;
    let files = noted(&folder).remove(reference.quant().unwrap_or_default()).unwrap_or_default();
    let paths: Vec<PathBuf> =
        files.iter().filter_map(|name| Some(folder.join(fetch::safe_path(name).ok()?))).collect();
    let all = paths.len() == files.len() && paths.iter().all(|path| path.is_file());
    Ok(paths.into_iter().next().filter(|_| all))
}

/// Asks the hub what a reference means and brings it into the cache; returns the path of its first file.
pub fn pull(reference: &Reference, mirror: Option<&str>) -> Result<PathBuf> {
    let client = client(mirror)?;
    let folder = hub_folder(reference)?;
    let files = client.find(reference)?;
    let path = bring(&client, &files, &folder)?;
    let mut note = noted(&folder);
    note.insert(
        reference.quant().unwrap_or_default().to_owned(),
        files.into_iter().map(|file| file.name).collect(),
    );
    let place = folder.join(NOTE);
    fs::write(&place, serde_json::to_vec(&note)?)
        .with_context(|| format!("cannot write {}", place.display()))?;
    Ok(path)
}

/// Brings the file of a URL into the cache, with all other parts if it is one; returns the path of the first.
pub fn pull_url(url: &str) -> Result<PathBuf> {
    let files = RemoteFile::from_url(url)?;
    bring(&client(None)?, &files, &url_folder(&files)?)
}

/// Where the first file of a URL is, or would be.
pub fn url_path(url: &str) -> Result<PathBuf> {
    let files = RemoteFile::from_url(url)?;
    Ok(url_folder(&files)?.join(files[0].path()?))
}

fn bring(client: &Client, files: &[RemoteFile], folder: &Path) -> Result<PathBuf> {
    let mut first = None;
    for (i, file) in files.iter().enumerate() {
        let path = folder.join(file.path()?);
        let (mut told, mut progress) = (false, Progress::of_bytes("fetching"));
        client.download(file, &path, &mut |done, total| {
            if !told {
                told = true;
                let part = if files.len() > 1 {
                    format!(" (file {} of {})", i + 1, files.len())
                } else {
                    String::new()
                };
                tell(&format!("fetching {}{part} into {}", file.name, folder.display()));
            }
            progress.set(done, total.unwrap_or(done));
            ControlFlow::Continue(())
        })?;
        progress.finish();
        first.get_or_insert(path);
    }
    first.context("there is no file to fetch")
}

/// Token, mirror and proxy are the user's: `HF_TOKEN`, `HF_ENDPOINT`, `HTTPS_PROXY` and its relatives.
fn client(mirror: Option<&str>) -> Result<Client> {
    let variable = |name: &&str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let first = |names: &[&str]| names.iter().find_map(variable);
    let mirror = mirror.map(str::to_owned).or_else(|| first(&["HF_ENDPOINT"]));
    let defaults = Options::default();
    let options = Options {
        mirror: mirror.unwrap_or(defaults.mirror.clone()).trim_end_matches('/').to_owned(),
        token: first(&["HF_TOKEN"]),
        proxy: first(&["https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY", "http_proxy", "HTTP_PROXY"]),
        no_proxy: first(&["no_proxy", "NO_PROXY"]),
        ..defaults
    };
    Ok(Client::new(options)?)
}

fn hub_folder(reference: &Reference) -> Result<PathBuf> {
    Ok(Cache::of_user()?.folder.join("hf").join(fetch::safe_path(&reference.repository())?))
}

/// Files of the same name come from many places, so each place has a folder.
fn url_folder(files: &[RemoteFile]) -> Result<PathBuf> {
    let hash = Sha256::digest(files[0].url.as_bytes());
    let name: String = hash.iter().take(6).map(|byte| format!("{byte:02x}")).collect();
    Ok(Cache::of_user()?.folder.join("url").join(name))
}

/// A note that is not there or cannot be read says nothing.
fn noted(folder: &Path) -> Note {
    let text = fs::read(folder.join(NOTE)).unwrap_or_default();
    serde_json::from_slice(&text).unwrap_or_default()
}
