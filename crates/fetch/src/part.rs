//! A file that is not all there yet: its bytes, their hash, and what they belong to.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use serde_json::{Value as Json, json};
use sha2::{Digest, Sha256};

use crate::Error;
use crate::client::is_sha256;

/// Bytes written at once, ending at multiples of this, which suits the disk and the page cache.
const PIECE_BYTES: usize = 2 << 20;

/// What the bytes of a part belong to.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Origin {
    /// Hash of the URL; the URL itself may hold a secret.
    pub source: String,
    /// What `If-Range` asks for: a strong ETag, or the time of the last change.
    pub validator: Option<String>,
    pub sha256: Option<String>,
    pub total: Option<u64>,
}

/// The part and its lock, which keeps every other process from both until this is dropped.
pub(crate) struct Part {
    path: PathBuf,
    file: File,
    lock_path: PathBuf,
    lock: File,
    /// Of the bytes in the file.
    hash: Sha256,
    /// Bytes that wait until a piece is full.
    waiting: Vec<u8>,
    /// Bytes in the file and those that wait.
    pub done: u64,
    pub origin: Origin,
    /// Whether the bytes come from more than one answer.
    pub resumed: bool,
}

impl Part {
    /// Opens or makes the part of the file at `path`. What an earlier run left there stays if it is of `source`.
    pub fn open(
        path: &Path,
        source: &str,
        tick: &mut dyn FnMut(u64, Option<u64>) -> ControlFlow<()>,
    ) -> Result<Part, Error> {
        let lock_path = with_suffix(path, ".part.lock");
        let lock = open(&lock_path)?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(Error::Busy { path: path.to_owned() }),
            Err(TryLockError::Error(error)) => return Err(Error::Io { path: lock_path, error }),
        }
        let path = with_suffix(path, ".part");
        let file = open(&path)?;
        let found = Origin::read(&lock);
        let origin = Origin { source: source.to_owned(), ..Origin::default() };
        let (hash, waiting) = (Sha256::new(), Vec::new());
        let mut part = Part { path, file, lock_path, lock, hash, waiting, done: 0, origin, resumed: false };
        let length = part.file.metadata().map_err(|error| part.io(error))?.len();
        match found {
            Some(found) if found.source == source && found.total.is_none_or(|n| length <= n) => {
                part.origin = found;
                part.take_up(tick)?;
            }
            _ if length > 0 => part.clear()?,
            _ => {}
        }
        Ok(part)
    }

    /// Hashes what is there.
    fn take_up(&mut self, tick: &mut dyn FnMut(u64, Option<u64>) -> ControlFlow<()>) -> Result<(), Error> {
        let mut buffer = vec![0; 1 << 20];
        loop {
            let n = self.file.read(&mut buffer).map_err(|error| self.io(error))?;
            if n == 0 {
                return Ok(());
            }
            self.hash.update(&buffer[..n]);
            self.done += n as u64;
            self.resumed = true;
            if tick(self.done, self.origin.total).is_break() {
                return Err(Error::Cancelled);
            }
        }
    }

    /// Whether a rest can be asked for: only if the whole can be proved to be one file.
    pub fn can_continue(&self) -> bool {
        self.done > 0 && (self.origin.validator.is_some() || self.origin.sha256.is_some())
    }

    /// Throws the bytes away.
    pub fn clear(&mut self) -> Result<(), Error> {
        let cleared = self.file.set_len(0).and_then(|()| self.file.seek(SeekFrom::Start(0)));
        cleared.map_err(|error| self.io(error))?;
        self.hash = Sha256::new();
        self.waiting.clear();
        self.done = 0;
        self.resumed = false;
        Ok(())
    }

    /// Notes what the bytes that come now belong to.
    pub fn begin(&mut self, origin: Origin) -> Result<(), Error> {
        if self.done > 0 {
            self.clear()?;
        }
        self.origin = origin;
        let text = self.origin.to_json().to_string();
        let mut lock = &self.lock;
        let noted = lock.set_len(0).and_then(|()| lock.seek(SeekFrom::Start(0)));
        let noted = noted.and_then(|_| lock.write_all(text.as_bytes()));
        noted.map_err(|error| self.trouble(&self.lock_path, error))
    }

    /// Adds bytes at the end; they wait for a whole piece or [`Part::flush`].
    pub fn write(&mut self, mut bytes: &[u8]) -> Result<(), Error> {
        while !bytes.is_empty() {
            let room = PIECE_BYTES - (self.done % PIECE_BYTES as u64) as usize;
            let (now, rest) = bytes.split_at(room.min(bytes.len()));
            self.waiting.extend_from_slice(now);
            self.done += now.len() as u64;
            if now.len() == room {
                self.flush()?;
            }
            bytes = rest;
        }
        Ok(())
    }

    /// Writes the bytes that wait. If that fails they are gone, and the part ends before them.
    pub fn flush(&mut self) -> Result<(), Error> {
        if let Err(error) = self.file.write_all(&self.waiting) {
            self.done -= self.waiting.len() as u64;
            self.waiting.clear();
            return Err(self.trouble(&self.path, error));
        }
        self.hash.update(&self.waiting);
        self.waiting.clear();
        Ok(())
    }

    /// The checksum of all bytes so far, once all are in the file.
    pub fn sha256(&mut self) -> Result<String, Error> {
        self.flush()?;
        Ok(hex(&self.hash.clone().finalize()))
    }

    /// Gives the file its name, once all bytes are in it.
    pub fn finish(mut self, path: &Path) -> Result<(), Error> {
        self.flush()?;
        self.file.sync_all().map_err(|error| self.trouble(&self.path, error))?;
        let Part { path: part_path, file, lock_path, lock, .. } = self;
        forget_pages(&file);
        drop(file);
        fs::rename(&part_path, path).map_err(|error| Error::Io { path: path.to_owned(), error })?;
        // Whoever opened the lock meanwhile looks for the finished file after taking it. A lock file that stays does
        // no harm.
        let _ = fs::remove_file(&lock_path);
        drop(lock);
        Ok(())
    }

    /// Takes part and lock away.
    pub fn discard(self) {
        let Part { path, file, lock_path, lock, .. } = self;
        drop(file);
        // Rubbish that cannot be removed is not worth hiding the error that led here.
        let _ = fs::remove_file(path);
        let _ = fs::remove_file(lock_path);
        drop(lock);
    }

    fn io(&self, error: io::Error) -> Error {
        Error::Io { path: self.path.clone(), error }
    }

    fn trouble(&self, path: &Path, error: io::Error) -> Error {
        use io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
        if matches!(error.kind(), StorageFull | QuotaExceeded | FileTooLarge) {
            return Error::DiskFull { path: path.to_owned(), done: self.done, total: self.origin.total };
        }
        Error::Io { path: path.to_owned(), error }
    }
}

/// Has the system drop a file that is on the disk from memory. It came there by writes, in pages of any size; who maps
/// the file as a model gets large pages if the system reads it then, and decodes up to a fifth faster. If the system
/// keeps it, nothing is lost but that.
#[cfg(target_os = "linux")]
fn forget_pages(file: &File) {
    let _ = rustix::fs::fadvise(file, 0, None, rustix::fs::Advice::DontNeed);
}

#[cfg(not(target_os = "linux"))]
fn forget_pages(_: &File) {}

impl Origin {
    fn read(from: &File) -> Option<Origin> {
        const BYTES_MAX: u64 = 1 << 16;
        let mut text = String::new();
        from.take(BYTES_MAX).read_to_string(&mut text).ok()?;
        let json: Json = serde_json::from_str(&text).ok()?;
        let string = |key: &str| json[key].as_str().map(str::to_owned);
        Some(Origin {
            source: string("source")?,
            validator: string("validator"),
            sha256: string("sha256").filter(|text| is_sha256(text)),
            total: json["total"].as_u64(),
        })
    }

    fn to_json(&self) -> Json {
        json!({"source": self.source, "validator": self.validator, "sha256": self.sha256, "total": self.total})
    }
}

/// A hash in lower-case hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

fn open(path: &Path) -> Result<File, Error> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    options.open(path).map_err(|error| Error::Io { path: path.to_owned(), error })
}
