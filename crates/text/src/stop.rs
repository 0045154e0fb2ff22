//! Stop strings in text that arrives in pieces.

use crate::Error;
use crate::stream::ROOM;

/// Finds the first stop string in a text that grows, and holds back only what may be the beginning
/// of one.
///
/// The stop string that is complete first counts, and of those that end at the same character the
/// longest. So the answer depends on the text and not on how it was cut. Time is linear in the text
/// for each stop string.
///
/// ```
/// let mut stops = text::StopMatcher::new(&["two three"])?;
/// assert_eq!(stops.push("one tw"), ("one ", false));
/// assert_eq!(stops.push("o thr"), ("", false));
/// assert_eq!(stops.push("ee four"), ("", true));
/// # Ok::<(), text::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct StopMatcher {
    stops: Vec<Stop>,
    // What was not given out yet is `text[done..]`; what lies before goes with a later push, when it is the larger part.
    text: String,
    done: usize,
    stopped: bool,
}

impl StopMatcher {
    /// A matcher that has seen nothing. Without stop strings it lets all text through.
    ///
    /// # Errors
    /// [`Error::StopEmpty`] if a stop string is empty.
    pub fn new<S: AsRef<str>>(stops: &[S]) -> Result<StopMatcher, Error> {
        let texts = stops.iter().map(|stop| stop.as_ref().as_bytes());
        let stops = texts.enumerate().map(|(index, text)| match text {
            [] => Err(Error::StopEmpty { index }),
            _ => Ok(Stop::new(text)),
        });
        Ok(StopMatcher {
            stops: stops.collect::<Result<_, _>>()?,
            text: String::with_capacity(2 * ROOM),
            done: 0,
            stopped: false,
        })
    }

    /// Takes the next text; returns what can be given out now, and whether a stop string is complete.
    /// Nothing of it nor after it is ever given out.
    pub fn push(&mut self, text: &str) -> (&str, bool) {
        self.drop_done();
        if self.stopped {
            return ("", true);
        }
        let start = self.text.len();
        self.text.push_str(text);
        for (at, byte) in text.bytes().enumerate() {
            self.stops.iter_mut().for_each(|stop| stop.step(byte));
            let complete = self.stops.iter().filter(|stop| stop.is_complete());
            if let Some(length) = complete.map(|stop| stop.text.len()).max() {
                let end = start + at + 1 - length;
                self.stopped = true;
                return (self.take(end), true);
            }
        }
        let held = self.stops.iter().map(|stop| stop.matched).max().unwrap_or(0);
        (self.take(self.text.len() - held), false)
    }

    /// Ends the text: returns what was held back. The matcher is as new afterwards.
    pub fn finish(&mut self) -> &str {
        self.drop_done();
        if self.stopped {
            self.done = self.text.len();
        }
        self.stopped = false;
        self.stops.iter_mut().for_each(|stop| stop.matched = 0);
        self.take(self.text.len())
    }

    /// Whether a stop string was found.
    pub fn stopped(&self) -> bool {
        self.stopped
    }

    /// What was not given out up to `end`. A stop string begins with the beginning of a character,
    /// so that `end` is one.
    fn take(&mut self, end: usize) -> &str {
        let start = std::mem::replace(&mut self.done, end);
        &self.text[start..end]
    }

    fn drop_done(&mut self) {
        if self.done > self.text.len() / 2 {
            self.text.drain(..self.done);
            self.done = 0;
        }
    }
}

/// One stop string, and how much of its beginning the text ends with (Knuth, Morris and Pratt).
#[derive(Debug, Clone)]
struct Stop {
    text: Box<[u8]>,
    // (bytes) length of the longest beginning of `text` that `text[..=index]` ends with, itself aside
    borders: Box<[usize]>,
    matched: usize,
}

impl Stop {
    fn new(text: &[u8]) -> Stop {
        let mut borders = vec![0; text.len()].into_boxed_slice();
        let mut length = 0;
        for index in 1..text.len() {
            length = extend(text, &borders, length, text[index]);
            borders[index] = length;
        }
        Stop { text: text.into(), borders, matched: 0 }
    }

    fn step(&mut self, byte: u8) {
        self.matched = extend(&self.text, &self.borders, self.matched, byte);
    }

    fn is_complete(&self) -> bool {
        self.matched == self.text.len()
    }
}

/// How much of the beginning of `text` is there after `byte`, if before it were `matched` bytes, less
/// than all of `text`.
fn extend(text: &[u8], borders: &[usize], mut matched: usize, byte: u8) -> usize {
    loop {
        if text[matched] == byte {
            return matched + 1;
        }
        if matched == 0 {
            return 0;
        }
        matched = borders[matched - 1];
    }
}
