//! Clients without patience, files with all bytes, and what is left in a folder.

use std::ops::ControlFlow;
use std::path::Path;
use std::time::Duration;

use fetch::{Client, Error, Options, RemoteFile};
use sha2::{Digest, Sha256};

pub fn client(options: Options) -> Client {
    let (backoff, patience) = (Duration::from_millis(1), Duration::from_secs(20));
    Client::new(Options { attempts: 3, backoff, patience, ..options }).unwrap()
}

/// Bytes in which every place is different enough from the next.
pub fn bytes(n: usize) -> Vec<u8> {
    (0..n).map(|i| (i * 7 + i / 251) as u8).collect()
}

pub fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

pub fn remote(url: &str) -> RemoteFile {
    RemoteFile { url: url.to_owned(), name: "m.gguf".to_owned(), bytes: None, sha256: None }
}

/// A download without an end before its end.
pub fn download(client: &Client, file: &RemoteFile, folder: &Path) -> Result<Vec<u8>, Error> {
    let path = folder.join(file.path()?);
    client.download(file, &path, &mut |_, _| ControlFlow::Continue(()))?;
    Ok(std::fs::read(path).unwrap())
}

/// Names of all files in a folder, sorted.
pub fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    let mut names: Vec<_> = entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}
