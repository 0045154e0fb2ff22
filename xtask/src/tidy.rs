//! House rules that no lint knows.

use std::fs;
use std::path::{Path, PathBuf};

/// What each crate may depend on in the workspace, in the order of the data's flow. Development
/// dependencies are free.
const MAY_USE: [(&str, &[&str]); 20] = [
    ("lib/memplan", &[]),
    ("crates/gguf", &[]),
    ("crates/graph", &[]),
    ("crates/models", &["gguf", "graph"]),
    ("crates/backend", &["graph"]),
    ("crates/compile", &["backend", "graph", "memplan"]),
    ("crates/reference", &["graph"]),
    ("crates/cpu", &["backend", "graph"]),
    ("crates/runtime", &["backend", "compile", "graph", "memplan", "models"]),
    ("crates/text", &[]),
    ("crates/sample", &[]),
    ("crates/constrain", &[]),
    ("crates/tools", &[]),
    ("crates/synthetic", &["gguf"]),
    ("crates/picture", &[]),
    (
        "crates/minfer",
        &[
            "backend",
            "compile",
            "constrain",
            "cpu",
            "gguf",
            "graph",
            "memplan",
            "models",
            "picture",
            "runtime",
            "sample",
            "text",
        ],
    ),
    ("crates/server", &["minfer", "tools"]),
    ("crates/fetch", &[]),
    ("crates/cli", &["fetch", "gguf", "minfer", "server"]),
    ("crates/webdriver", &[]),
];

/// Crates that may look at the environment.
const MAY_READ_ENVIRONMENT: [&str; 2] = ["crates/cli", "xtask"];

/// Checks every rule; says every breach.
pub fn check(root: &Path) -> Result<(), String> {
    let mut breaches = Vec::new();
    for (folder, allowed) in MAY_USE {
        let path = root.join(folder).join("Cargo.toml");
        let manifest = fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
        breaches.extend(stray_dependencies(folder, &manifest, allowed));
    }
    for folder in ["lib", "crates", "xtask"] {
        for file in rust_files(&root.join(folder))? {
            let text = fs::read_to_string(&file).map_err(|e| format!("{}: {e}", file.display()))?;
            let name = file.strip_prefix(root).unwrap_or(&file).to_string_lossy().into_owned();
            breaches.extend(breaches_in(&name, &text));
        }
    }
    if breaches.is_empty() { Ok(()) } else { Err(breaches.join("\n")) }
}

fn stray_dependencies(folder: &str, manifest: &str, allowed: &[&str]) -> Vec<String> {
    let ours: Vec<&str> = MAY_USE.iter().filter_map(|(f, _)| f.rsplit('/').next()).collect();
    let section = manifest.split("\n[").find(|s| s.starts_with("dependencies]")).unwrap_or_default();
    let names = section.lines().skip(1).filter_map(|line| line.split(['.', ' ', '=']).next());
    names
        .filter(|name| ours.contains(name) && !allowed.contains(name))
        .map(|name| format!("{folder}/Cargo.toml: depends on {name}, which comes later in the flow"))
        .collect()
}

fn breaches_in(name: &str, text: &str) -> Vec<String> {
    let is_test = name.contains("/tests/") || name.contains("/examples/") || name.contains("/benches/");
    let mut breaches = Vec::new();
    if !is_test && !text.starts_with("//!") {
        breaches.push(format!("{name}: does not begin with what it holds (`//!`)"));
    }
    let reads_environment = text.contains("env::var");
    if reads_environment && !is_test && !MAY_READ_ENVIRONMENT.iter().any(|folder| name.starts_with(folder)) {
        breaches.push(format!("{name}: reads the environment below the command line"));
    }
    let allows_dead_code = ["allow(dead", "_code)"].concat();
    if text.contains(&allows_dead_code) {
        breaches.push(format!("{name}: keeps dead code"));
    }
    breaches
}

fn rust_files(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let mut files = Vec::new();
    let entries = fs::read_dir(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    for entry in entries {
        let path = entry.map_err(|e| format!("{}: {e}", folder.display()))?.path();
        if path.is_dir() && path.file_name().is_some_and(|name| name != "target") {
            files.extend(rust_files(&path)?);
        } else if path.extension().is_some_and(|e| e == "rs") {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}
