//! Downloads model files: by URL, or by reference to a repository of a model hub.
//!
//! ```no_run
//! use std::ops::ControlFlow;
//! use std::path::Path;
//!
//! let client = fetch::Client::new(fetch::Options::default())?;
//! for file in client.find(&"hf:ORG/REPO:Q4_K_M".parse()?)? {
//!     let path = Path::new("models").join(file.path()?);
//!     client.download(&file, &path, &mut |_done, _total| ControlFlow::Continue(()))?;
//! }
//! # Ok::<(), fetch::Error>(())
//! ```
//!
//! What a server says is believed only as far as it can be checked. Names become paths only if they stay below the
//! folder that they are joined to. A file appears under its name when all of it is there and its checksum is right,
//! if one is known; until then it grows in `NAME.part`, beside `NAME.part.lock`, which keeps other processes away and
//! notes what the part belongs to. A download that is cut continues where it ended, in this process or a later one,
//! if the server can prove that the file is still the same, and begins again if not.
//!
//! Nothing is printed, and no environment variable is read: mirror, token and proxy are [`Options`].

mod choose;
mod client;
mod download;
mod error;
mod hub;
mod name;
mod options;
mod part;
mod reference;
mod remote;
mod url;

pub use client::Client;
pub use error::Error;
pub use name::safe_path;
pub use options::Options;
pub use reference::Reference;
pub use remote::{RemoteFile, part_names};
