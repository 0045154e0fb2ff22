//! Runs the command, and makes the models that it is run on.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use serde_json::Value as Json;
use tempfile::TempDir;

/// What a run left behind.
pub struct Ran {
    pub code: i32,
    pub out: String,
    pub err: String,
}

impl Ran {
    /// The run ended with this code; what it said is shown if not.
    #[track_caller]
    pub fn expect(self, code: i32) -> Ran {
        assert_eq!(self.code, code, "standard output {:?}, standard error {:?}", self.out, self.err);
        self
    }

    /// It failed with this code, printed nothing, and its message has all these words.
    #[track_caller]
    pub fn refused(self, code: i32, words: &[&str]) {
        let ran = self.expect(code);
        assert_eq!(ran.out, "", "a failure prints nothing");
        for word in words {
            assert!(ran.err.contains(word), "{word:?} is missing in {:?}", ran.err);
        }
        assert!(!ran.err.contains("panicked"), "{}", ran.err);
    }
}

/// The command, with a cache of its own, so that no test fetches anything.
pub fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_minfer"));
    command.args(arguments).env("MINFER_CACHE", folder().join("cache")).stdin(Stdio::null());
    // Servers of tests are on this machine, and get no secret of whoever runs the tests.
    let own = ["HF_TOKEN", "HF_ENDPOINT"];
    let proxies = ["http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"];
    for variable in own.iter().chain(&proxies) {
        command.env_remove(variable);
    }
    command
}

pub fn run(command: &mut Command) -> Ran {
    let output = command.output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Ran { code: output.status.code().unwrap(), out: text(output.stdout), err: text(output.stderr) }
}

pub fn minfer(arguments: &[&str]) -> Ran {
    run(&mut command(arguments))
}

/// The one JSON value on standard output; all of it is that value and a newline.
#[track_caller]
pub fn json(arguments: &[&str]) -> Json {
    parsed(&minfer(arguments).expect(0).out)
}

/// The same, with something on standard input.
#[track_caller]
pub fn json_of_input(arguments: &[&str], input: &[u8]) -> Json {
    let mut command = command(arguments);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(input).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    parsed(&String::from_utf8(output.stdout).unwrap())
}

#[track_caller]
fn parsed(out: &str) -> Json {
    assert!(out.ends_with('\n') && out.matches('\n').count() == 1, "one line: {out:?}");
    serde_json::from_str(out).unwrap()
}

/// Keys of an object, in order.
pub fn keys(value: &Json) -> Vec<&str> {
    value.as_object().unwrap().keys().map(String::as_str).collect()
}

/// Where the tests of this run keep their models.
pub fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("cli")
}

/// A folder that goes away with the test, and the path of a file in it that holds these bytes.
pub fn file(name: &str, bytes: &[u8]) -> (TempDir, String) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    std::fs::write(&path, bytes).unwrap();
    (folder, path.to_str().unwrap().to_owned())
}

/// A random model without BOS, of f32 weights and heads of 16 elements; context 1024.
pub fn micro() -> &'static str {
    static PATH: OnceLock<String> = OnceLock::new();
    PATH.get_or_init(|| model("qwen2", "micro", "F32"))
}

/// A random model with BOS, of Q8_0 weights and heads of 64 elements; context 2048.
pub fn tiny() -> &'static str {
    static PATH: OnceLock<String> = OnceLock::new();
    PATH.get_or_init(|| model("llama", "tiny", "Q8_0"))
}

/// A random encoder of f32 weights, whose file says that the first token's row is the embedding; context 512.
pub fn encoder() -> &'static str {
    static PATH: OnceLock<String> = OnceLock::new();
    PATH.get_or_init(|| model("bert", "micro", "F32"))
}

fn model(arch: &str, preset: &str, quant: &str) -> String {
    std::fs::create_dir_all(folder()).unwrap();
    let path = folder().join(format!("{arch}-{preset}-{quant}.gguf"));
    synthetic::write(arch, preset, quant, 1, None, Path::new(&path)).unwrap();
    path.to_str().unwrap().to_owned()
}
