//! What can go wrong between a test and the browser.

use std::path::PathBuf;

/// Why the browser did not do what it was asked for.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A program that is needed is not on this machine.
    #[error("{} is not there: install Chromium and its driver to run this test", path.display())]
    Absent {
        /// Where it was looked for.
        path: PathBuf,
    },
    /// The driver did not start.
    #[error("the driver did not start: {reason}")]
    Start {
        /// What was seen instead.
        reason: String,
    },
    /// The driver's answer did not come or was no HTTP.
    #[error("{request}: {source}")]
    Connection {
        /// Method and path of the request.
        request: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// The driver refused a command.
    #[error("{request}: {kind}: {message}")]
    Refused {
        /// Method and path of the request.
        request: String,
        /// The protocol's name of the error, such as `no such element`.
        kind: String,
        /// The driver's own words.
        message: String,
    },
    /// An answer lacks what the protocol promises.
    #[error("{request}: the answer has no {expected}")]
    Answer {
        /// Method and path of the request.
        request: String,
        /// What was looked for in it.
        expected: &'static str,
    },
}
