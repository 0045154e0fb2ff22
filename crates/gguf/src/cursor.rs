//! A place in the bytes of a file that moves forward and never past the end.

use crate::Error;

/// Reads little-endian numbers and lengths in order; each error says what was wanted and where.
pub(crate) struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Cursor { bytes, at: 0 }
    }

    pub fn at(&self) -> usize {
        self.at
    }

    pub fn left(&self) -> usize {
        self.bytes.len() - self.at
    }

    pub fn take(&mut self, n: usize, what: impl FnOnce() -> String) -> Result<&'a [u8], Error> {
        match self.bytes[self.at..].get(..n) {
            Some(taken) => {
                self.at += n;
                Ok(taken)
            }
            None => Err(Error::EndOfFile {
                what: what(),
                offset: self.at as u64,
                needed: n as u64,
                left: self.left() as u64,
            }),
        }
    }

    pub fn array<const N: usize>(&mut self, what: impl FnOnce() -> String) -> Result<[u8; N], Error> {
        let taken = self.take(N, what)?;
        Ok(taken.try_into().expect("take returned N bytes"))
    }

    pub fn u32(&mut self, what: impl FnOnce() -> String) -> Result<u32, Error> {
        Ok(u32::from_le_bytes(self.array(what)?))
    }

    pub fn u64(&mut self, what: impl FnOnce() -> String) -> Result<u64, Error> {
        Ok(u64::from_le_bytes(self.array(what)?))
    }

    /// A number of things that take at least `bytes_min` bytes each, checked against the bytes that
    /// are left before anyone makes room for them.
    pub fn count(&mut self, bytes_min: usize, what: impl Fn() -> String) -> Result<usize, Error> {
        let offset = self.at as u64;
        let found = self.u64(&what)?;
        self.fits(found, bytes_min, offset, what)
    }

    /// The check of [`count`](Self::count) for a number read earlier, at `offset`.
    pub fn fits(
        &self,
        found: u64,
        bytes_min: usize,
        offset: u64,
        what: impl FnOnce() -> String,
    ) -> Result<usize, Error> {
        let count_max = self.left() / bytes_min;
        match usize::try_from(found) {
            Ok(count) if count <= count_max => Ok(count),
            _ => Err(Error::Count {
                what: what(),
                offset,
                found,
                count_max: count_max as u64,
                left: self.left() as u64,
            }),
        }
    }

    /// A length and as many bytes of UTF-8. `what` is "key 3", "key `k`, string" or the like.
    pub fn str(&mut self, what: impl Fn() -> String) -> Result<&'a str, Error> {
        let n = self.count(1, || format!("{} length", what()))?;
        let offset = self.at as u64;
        let bytes = self.take(n, &what)?;
        std::str::from_utf8(bytes).map_err(|_| Error::Utf8 { what: what(), offset })
    }
}
