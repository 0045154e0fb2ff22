//! The checks, as commands that anybody can run by hand.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use crate::tidy;

/// Target of the tests under emulation.
const AARCH64: &str = "aarch64-unknown-linux-gnu";
/// Target of the sanitizer, which must be named so that build scripts stay without it.
const X86_64: &str = "x86_64-unknown-linux-gnu";

/// Runs everything; stops at the first failure.
pub fn run(full: bool) -> Result<(), String> {
    let root = root();
    step("house rules", || tidy::check(&root))?;
    cargo("format", &["fmt", "--all", "--", "--check"])?;
    cargo("lints", &["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"])?;
    let docs = ["doc", "--workspace", "--no-deps", "--document-private-items"];
    step("documentation", || execute(Command::new("cargo").args(docs).env("RUSTDOCFLAGS", "-D warnings")))?;
    cargo("tests", &["test", "--workspace"])?;
    emulated()?;
    let model = fetch_model("smollm2-135m")?;
    let folder = model.parent().ok_or("the model has no folder")?.to_owned();
    step("tests on a real model", || execute(&mut model_tests(&folder)))?;
    step("the first command of the README", || first_command(&root))?;
    if full { slow(&folder) } else { Ok(()) }
}

/// What takes long or needs more tools than Rust and Python.
fn slow(models: &Path) -> Result<(), String> {
    let sanitized = ["-p", "gguf", "-p", "cpu", "-p", "runtime", "-p", "memplan"];
    step("AddressSanitizer", || {
        let mut command = Command::new("cargo");
        command.args(["+nightly", "test", "--target", X86_64, "--tests"]).args(sanitized);
        execute(command.env("RUSTFLAGS", "-Zsanitizer=address").env("RUSTDOCFLAGS", "-Zsanitizer=address"))
    })?;
    step("fuzzing of the GGUF reader, one minute", || {
        let arguments = ["+nightly", "fuzz", "run", "gguf_header", "--", "-max_total_time=60"];
        execute(Command::new("cargo").args(arguments))
    })?;
    for name in ["gemma3-270m", "qwen2.5-coder-0.5b"] {
        fetch_model(name)?;
    }
    step("all models, with perplexities", || {
        let text = bible()?;
        execute(model_tests(models).env("MINFER_TEST_TEXT", text))
    })
}

/// The kernels' tests for aarch64 under qemu, where compiler, linker and qemu are there.
fn emulated() -> Result<(), String> {
    const WHAT: &str = "kernels for aarch64 under qemu";
    const LINKER: &str = "aarch64-linux-gnu-gcc";
    const QEMU: &str = "qemu-aarch64-static";
    let libraries = Command::new("rustc").args(["--print", "target-libdir", "--target", AARCH64]).output();
    let libraries = libraries.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
    let rustup = libraries.is_ok_and(|path| Path::new(&path).is_dir());
    // Debian's compiler may have the target where rustup's does not.
    let debian = !rustup && Path::new("/usr/lib/rustlib").join(AARCH64).exists();
    let has = |tool| Command::new(tool).arg("--version").output().is_ok_and(|output| output.status.success());
    let needed = [(AARCH64, rustup || debian), (LINKER, has(LINKER)), (QEMU, has(QEMU))];
    if let Some((missing, _)) = needed.into_iter().find(|(_, there)| !there) {
        eprintln!("== {WHAT}: SKIPPED, there is no {missing}");
        return Ok(());
    }
    step(WHAT, || {
        let mut command = Command::new("cargo");
        command.args(["test", "--target", AARCH64, "--tests", "-p", "cpu"]);
        // Linked statically: threads of dynamically linked programs never start under some versions of qemu.
        let flags = ["RUSTFLAGS", "-C target-feature=+crt-static"];
        for [what, value] in [["LINKER", LINKER], ["RUNNER", QEMU], flags] {
            command.env(format!("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_{what}"), value);
        }
        if debian {
            // Another compiler: what it builds is kept apart.
            command.env("RUSTC", "/usr/bin/rustc").env("CARGO_TARGET_DIR", "target/qemu");
        }
        execute(&mut command)
    })
}

/// The tests that run on the real models of a folder, in the release profile: they are long otherwise.
fn model_tests(folder: &Path) -> Command {
    let mut command = Command::new("cargo");
    command.args(["test", "--release", "-p", "minfer", "--test", "minfer"]).env("MINFER_TEST_MODELS", folder);
    command
}

/// Fetches a model with the program itself and returns where it is.
fn fetch_model(name: &str) -> Result<PathBuf, String> {
    let arguments = ["run", "--quiet", "--release", "--bin", "minfer", "--", "pull", name];
    let mut path = String::new();
    step(&format!("fetch {name}"), || {
        let output = Command::new("cargo").args(arguments).stderr(std::process::Stdio::inherit()).output();
        let output = output.map_err(|e| format!("cannot start cargo: {e}"))?;
        if !output.status.success() {
            return Err("minfer pull failed".to_owned());
        }
        path = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        Ok(())
    })?;
    Ok(PathBuf::from(path))
}

/// Runs the first command that the README shows, as a reader would.
fn first_command(root: &Path) -> Result<(), String> {
    let readme = std::fs::read_to_string(root.join("README.md")).map_err(|e| format!("README.md: {e}"))?;
    let line = readme.lines().find(|line| line.starts_with("cargo run"));
    let line = line.ok_or("README.md shows no command that begins with `cargo run`")?;
    let output =
        Command::new("sh").args(["-c", line]).output().map_err(|e| format!("cannot start sh: {e}"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    if !output.status.success() || text.trim().is_empty() {
        return Err(format!("`{line}` failed: {}", String::from_utf8_lossy(&output.stderr)));
    }
    Ok(())
}

/// The text that perplexities are stated for, written to a file: Genesis without verse labels.
fn bible() -> Result<PathBuf, String> {
    let output = Command::new("bible").args(["-f", "Gen1:1-50:26"]).output();
    let output = output.map_err(|e| format!("cannot start `bible` (Debian: bible-kjv): {e}"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let verses = text.lines().map(|line| line.split_once(' ').map_or(line, |(_, verse)| verse));
    let mut plain: String = verses.flat_map(|verse| [verse, "\n"]).collect();
    plain.truncate(40_960);
    let path = std::env::temp_dir().join("minfer-perplexity.txt");
    std::fs::write(&path, plain).map_err(|e| format!("{}: {e}", path.display()))?;
    Ok(path)
}

fn cargo(what: &str, arguments: &[&str]) -> Result<(), String> {
    step(what, || execute(Command::new("cargo").args(arguments)))
}

fn execute(command: &mut Command) -> Result<(), String> {
    let status = command.status().map_err(|e| format!("cannot start {command:?}: {e}"))?;
    if status.success() { Ok(()) } else { Err(format!("{command:?} failed")) }
}

fn step(what: &str, run: impl FnOnce() -> Result<(), String>) -> Result<(), String> {
    eprintln!("== {what}");
    let started = Instant::now();
    run().map_err(|error| format!("{what}: {error}"))?;
    eprintln!("== {what}: {:.0} s", started.elapsed().as_secs_f64());
    Ok(())
}

/// The workspace, seen from this crate.
fn root() -> PathBuf {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    manifest.parent().expect("the crate is inside the workspace").to_owned()
}
