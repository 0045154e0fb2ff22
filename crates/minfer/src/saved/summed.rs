//! Sections of a file, each with a checksum behind it.

use std::io::{self, Read, Write};

use sha2::{Digest, Sha256};

use super::SavedError;
use super::identity::digits;

/// Bytes of a checksum.
pub(super) const SUM: usize = 32;

/// A file, and the checksum of the section that is under way.
pub(super) struct Summed<T> {
    file: T,
    hasher: Sha256,
    /// Where the section begins, and where the file is.
    from: u64,
    at: u64,
}

impl<T> Summed<T> {
    pub fn new(file: T) -> Summed<T> {
        Summed { file, hasher: Sha256::new(), from: 0, at: 0 }
    }

    pub fn into_inner(self) -> T {
        self.file
    }

    fn count(&mut self, bytes: &[u8]) {
        self.hasher.update(bytes);
        self.at += bytes.len() as u64;
    }
}

impl<W: Write> Summed<W> {
    pub fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.count(bytes);
        self.file.write_all(bytes)
    }

    /// The section is complete.
    pub fn close(&mut self) -> io::Result<()> {
        let sum: [u8; SUM] = self.hasher.finalize_reset().into();
        self.at += SUM as u64;
        self.from = self.at;
        self.file.write_all(&sum)
    }
}

impl<R: Read> Summed<R> {
    pub fn take(&mut self, bytes: &mut [u8]) -> io::Result<()> {
        self.file.read_exact(bytes)?;
        self.count(bytes);
        Ok(())
    }

    /// The section is complete: what was read is what was written, or it is an error that names the section.
    pub fn check(&mut self, section: &'static str) -> Result<(), SavedError> {
        let found: [u8; SUM] = self.hasher.finalize_reset().into();
        let mut expected = [0; SUM];
        self.file.read_exact(&mut expected)?;
        let (from, to) = (self.from, self.at);
        self.at += SUM as u64;
        self.from = self.at;
        if found != expected {
            let (found, expected) = (digits(&found), digits(&expected));
            return Err(SavedError::Damaged { section, from, to, found, expected });
        }
        Ok(())
    }
}
