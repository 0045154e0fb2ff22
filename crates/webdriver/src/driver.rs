//! The driver's process.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use crate::error::Error;
use crate::http;

/// What the driver prints before the number of the port that it listens on.
const STARTED: &str = "started successfully on port ";

/// How long the goodbye may take.
pub(crate) const END_LIMIT: Duration = Duration::from_secs(10);

/// A running driver; ended when it goes out of scope.
pub(crate) struct Driver {
    child: Child,
    pub port: u16,
}

impl Driver {
    /// Starts it on a port that it picks itself.
    pub fn start(program: &Path, limit: Duration) -> Result<Self, Error> {
        let start = |reason: String| Error::Start { reason };
        let mut child = Command::new(program)
            .arg("--port=0")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|e| start(format!("{}: {e}", program.display())))?;
        let output = child.stdout.take().expect("the driver's output is a pipe");
        // From here on the process is killed on every way out.
        let mut driver = Self { child, port: 0 };

        let (port_of, port) = mpsc::channel();
        // Reads to the end, so that the driver never blocks on a full pipe; ends with the driver.
        thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                if let Some((_, rest)) = line.split_once(STARTED) {
                    // Nobody listens any more if the start was given up.
                    let _ = port_of.send(rest.trim_end_matches('.').parse());
                }
            }
        });
        match port.recv_timeout(limit) {
            Ok(Ok(port)) => driver.port = port,
            Ok(Err(e)) => return Err(start(format!("it named its port as no number: {e}"))),
            Err(e) => return Err(start(format!("it did not name its port: {e}"))),
        }
        Ok(driver)
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        // Asked first, as it ends browsers whose sessions we never heard of; if it cannot, killing it is what is left.
        if self.port != 0 {
            let _ = http::call(self.port, "GET", "/shutdown", None, END_LIMIT);
        }
        // Both fail only if the process is gone already, which is what is wanted.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
