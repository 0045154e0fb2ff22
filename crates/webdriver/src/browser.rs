//! A browser and its session.

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

use crate::driver::{Driver, END_LIMIT};
use crate::error::Error;
use crate::http;

/// How long the driver may take to say its port.
const START_LIMIT: Duration = Duration::from_secs(30);
/// How long a command may take.
const COMMAND_LIMIT: Duration = Duration::from_secs(120);

/// The programs that are needed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Programs {
    /// The browser.
    pub chromium: PathBuf,
    /// The program that drives it.
    pub chromedriver: PathBuf,
}

/// A headless Chromium with one window, an empty profile, and no traffic of its own.
pub struct Browser {
    driver: Driver,
    session: String,
    /// The browser's process, to be ended even if the driver does not.
    process: Option<u64>,
    // Removed last: the browser writes there until it ends.
    _profile: tempfile::TempDir,
}

impl Browser {
    /// Where the programs are on this machine: `/usr/bin`, where distributions put them.
    ///
    /// # Errors
    /// [`Error::Absent`] with the first one that is not there. A test prints that and is skipped.
    pub fn find() -> Result<Programs, Error> {
        let there = |path: &str| {
            let path = PathBuf::from(path);
            if path.exists() { Ok(path) } else { Err(Error::Absent { path }) }
        };
        Ok(Programs { chromium: there("/usr/bin/chromium")?, chromedriver: there("/usr/bin/chromedriver")? })
    }

    /// Starts a browser with a window of `width` times `height` pixels.
    ///
    /// # Errors
    /// [`Error`] when the driver or the browser does not start.
    pub fn start(programs: &Programs, width: u32, height: u32) -> Result<Self, Error> {
        let profile = tempfile::tempdir()
            .map_err(|e| Error::Start { reason: format!("no folder for the profile: {e}") })?;
        let driver = Driver::start(&programs.chromedriver, START_LIMIT)?;
        let args = [
            "--headless".to_owned(),
            "--no-sandbox".to_owned(),
            "--disable-gpu".to_owned(),
            "--disable-quic".to_owned(),
            "--no-first-run".to_owned(),
            "--disable-background-networking".to_owned(),
            "--disable-component-update".to_owned(),
            "--disable-sync".to_owned(),
            // Small containers have a small /dev/shm.
            "--disable-dev-shm-usage".to_owned(),
            format!("--window-size={width},{height}"),
            format!("--user-data-dir={}", profile.path().display()),
        ];
        let wanted = json!({"capabilities": {"alwaysMatch": {
            "browserName": "chrome",
            "goog:chromeOptions": {"binary": programs.chromium, "args": args},
            "goog:loggingPrefs": {"browser": "ALL"},
            "timeouts": {"script": 20_000, "pageLoad": 30_000, "implicit": 0},
        }}});
        let answer = http::call(driver.port, "POST", "/session", Some(&wanted), COMMAND_LIMIT)?;
        let session = answer["sessionId"].as_str().ok_or_else(|| Error::Answer {
            request: "POST /session".to_owned(),
            expected: "name of the session",
        })?;
        let process = answer["capabilities"]["goog:processID"].as_u64();
        Ok(Self { session: session.to_owned(), process, driver, _profile: profile })
    }

    /// The number of the browser's process, if the driver told it.
    pub fn process(&self) -> Option<u64> {
        self.process
    }

    /// Sends one command of the session; `path` is what follows the session's name. For commands without a method here.
    ///
    /// # Errors
    /// [`Error`] when the driver refuses or does not answer in time.
    pub fn command(&self, method: &str, path: &str, body: &Value) -> Result<Value, Error> {
        let body = (method == "POST").then_some(body);
        let path = format!("/session/{}{path}", self.session);
        http::call(self.driver.port, method, &path, body, COMMAND_LIMIT)
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let path = format!("/session/{}", self.session);
        let ended = http::call(self.driver.port, "DELETE", &path, None, END_LIMIT);
        if let (Err(_), Some(process)) = (ended, self.process) {
            // The driver is stuck: the browser would outlive it. Best effort, as there is nobody to tell.
            let _ = Command::new("kill")
                .args(["-9", &process.to_string()])
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .status();
        }
    }
}
