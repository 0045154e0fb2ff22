//! The folder where fetched models are kept, and what is in it.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::known;

/// Deeper folders hold no models.
const DEPTH_MAX: usize = 12;
const PART_SUFFIX: &str = ".part";
const LOCK_SUFFIX: &str = ".part.lock";

/// A folder of models.
pub struct Cache {
    pub folder: PathBuf,
}

/// A model in it: one file, or all parts of a split one that are there.
pub struct Cached {
    /// What every command takes: a known name, or the path in the folder with slashes.
    pub name: String,
    /// The file, or the first part.
    pub path: PathBuf,
    pub bytes: u64,
    /// Whether nothing is missing.
    pub complete: bool,
    /// Everything that belongs to it.
    files: Vec<PathBuf>,
}

impl Cache {
    /// `$MINFER_CACHE`, or `minfer/models` in the user's cache folder.
    pub fn of_user() -> Result<Cache> {
        let variable = |name| std::env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from);
        if let Some(folder) = variable("MINFER_CACHE") {
            return Ok(Cache { folder });
        }
        let base = variable("XDG_CACHE_HOME")
            .or_else(|| variable("LOCALAPPDATA"))
            .or_else(|| Some(variable("HOME")?.join(".cache")));
        let base = base.context("there is no cache folder: set HOME, XDG_CACHE_HOME or MINFER_CACHE")?;
        Ok(Cache { folder: base.join("minfer").join("models") })
    }

    /// All models, sorted by name. Links are not followed: what is listed lies in the folder.
    pub fn list(&self) -> Result<Vec<Cached>> {
        let mut files = BTreeMap::new();
        if self.folder.is_dir() {
            walk(&self.folder, "", 0, &mut files)?;
        }
        let mut models: BTreeMap<String, Cached> = BTreeMap::new();
        for (name, bytes) in &files {
            let stem =
                name.strip_suffix(LOCK_SUFFIX).or_else(|| name.strip_suffix(PART_SUFFIX)).unwrap_or(name);
            let parts = fetch::part_names(stem);
            let first = &parts[0];
            let model = models.entry(first.clone()).or_insert_with(|| Cached {
                name: known::KNOWN
                    .iter()
                    .find(|k| k.file == first)
                    .map_or(first.as_str(), |k| k.name)
                    .to_owned(),
                path: self.folder.join(first),
                bytes: 0,
                complete: parts.iter().all(|part| files.contains_key(part)),
                files: Vec::new(),
            });
            model.bytes += bytes;
            model.files.push(self.folder.join(name));
        }
        let mut models: Vec<Cached> = models.into_values().collect();
        models.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(models)
    }

    /// The model of a name or a path in the folder.
    pub fn find(&self, name: &str) -> Result<Option<Cached>> {
        let path = self.folder.join(name);
        Ok(self.list()?.into_iter().find(|cached| cached.name == name || cached.path == path))
    }

    /// Takes a model's files away, and the folders that are empty then.
    pub fn remove(&self, cached: &Cached) -> Result<()> {
        for file in &cached.files {
            fs::remove_file(file).with_context(|| format!("cannot remove {}", file.display()))?;
        }
        for folder in cached.path.ancestors().skip(1).take_while(|folder| *folder != self.folder) {
            let is_note = |entry: &fs::DirEntry| entry.file_name() == crate::remote::NOTE;
            let mut left = fs::read_dir(folder)?.filter_map(Result::ok);
            if !left.all(|entry| is_note(&entry)) {
                break;
            }
            fs::remove_dir_all(folder).with_context(|| format!("cannot remove {}", folder.display()))?;
        }
        Ok(())
    }
}

/// Names and lengths of the model files in a folder and those in it, whole and unfinished.
fn walk(folder: &Path, prefix: &str, depth: usize, files: &mut BTreeMap<String, u64>) -> Result<()> {
    for entry in fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))? {
        let entry = entry?;
        let Ok(name) = entry.file_name().into_string() else { continue };
        if name.starts_with('.') {
            continue;
        }
        let (kind, path) = (entry.file_type()?, format!("{prefix}{name}"));
        if kind.is_dir() && depth < DEPTH_MAX {
            walk(&entry.path(), &format!("{path}/"), depth + 1, files)?;
        } else if kind.is_file()
            && [".gguf", ".gguf.part", ".gguf.part.lock"].iter().any(|end| name.ends_with(end))
        {
            files.insert(path, entry.metadata()?.len());
        }
    }
    Ok(())
}
