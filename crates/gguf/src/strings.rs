//! Many strings in one buffer: a vocabulary has hundreds of thousands of short ones.

use std::fmt;

/// A list of strings, stored as one text and the places where each ends.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct StrArray {
    text: String,
    ends: Vec<usize>,
}

impl StrArray {
    /// An empty list.
    pub fn new() -> Self {
        Self::default()
    }

    /// How many strings there are.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Bytes on the heap.
    pub fn heap_bytes(&self) -> usize {
        self.text.capacity() + self.ends.capacity() * size_of::<usize>()
    }

    /// The string at an index.
    ///
    /// # Panics
    /// When `index` is not below [`len`](Self::len), as for a slice.
    pub fn get(&self, index: usize) -> &str {
        let end = self.ends[index];
        let start = if index == 0 { 0 } else { self.ends[index - 1] };
        &self.text[start..end]
    }

    /// The strings in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &str> + DoubleEndedIterator + Clone {
        (0..self.len()).map(|i| self.get(i))
    }

    /// Adds a string at the end.
    pub fn push(&mut self, s: &str) {
        self.text.push_str(s);
        self.ends.push(self.text.len());
    }

    /// All strings one after the other, and where each ends: what a reader of files collects.
    /// Fails with the index of the first string that is not UTF-8.
    pub(crate) fn from_parts(text: Vec<u8>, ends: Vec<usize>) -> Result<Self, usize> {
        debug_assert_eq!(ends.last().copied().unwrap_or(0), text.len());
        // One check of the whole text is several times faster than one for each string. It leaves
        // a character that two strings share, which the ends then show.
        match String::from_utf8(text) {
            Ok(text) => match ends.iter().position(|&end| !text.is_char_boundary(end)) {
                None => Ok(StrArray { text, ends }),
                Some(index) => Err(index),
            },
            Err(error) => {
                let mut start = 0;
                let bad = ends.iter().position(|&end| {
                    let s = &error.as_bytes()[start..end];
                    start = end;
                    std::str::from_utf8(s).is_err()
                });
                Err(bad.expect("valid strings make a valid text"))
            }
        }
    }
}

impl<S: AsRef<str>> FromIterator<S> for StrArray {
    fn from_iter<I: IntoIterator<Item = S>>(strings: I) -> Self {
        let mut out = StrArray::new();
        for s in strings {
            out.push(s.as_ref());
        }
        out
    }
}

impl fmt::Debug for StrArray {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}
