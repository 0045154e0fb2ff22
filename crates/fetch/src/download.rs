//! One file from a server to its place on the disk.

use std::fs;
use std::io::Read;
use std::ops::ControlFlow;
use std::path::Path;

use sha2::{Digest, Sha256};
use ureq::http::{HeaderMap, header};

use crate::client::Answer;
use crate::error::Failure;
use crate::part::{Origin, Part, hex};
use crate::url::Url;
use crate::{Client, Error, RemoteFile};

/// An attempt that brings this much more than any before it is no failure in a row.
const PROGRESS_BYTES: u64 = 1 << 20;
const BUFFER_BYTES: usize = 1 << 18;

/// Told of bytes done and, if known, of all; says whether to go on.
type Progress<'a> = &'a mut dyn FnMut(u64, Option<u64>) -> ControlFlow<()>;

impl Client {
    /// Brings a file to `path`, continuing what an earlier call left there. A file that is there already, with the
    /// length that is expected if any is, is kept without asking the server.
    ///
    /// `progress` gets the bytes that are there and the bytes of the file, if known, and can stop the download; then
    /// and after most errors the part stays for the next call. A part that cannot become the file goes away.
    pub fn download(&self, file: &RemoteFile, path: &Path, progress: Progress<'_>) -> Result<(), Error> {
        let url = Url::parse(&file.url)?;
        if is_there(file, path) {
            return Ok(());
        }
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(|error| Error::Io { path: folder.to_owned(), error })?;
        }
        let source = hex(&Sha256::digest(url.as_str().as_bytes()));
        let mut part = Part::open(path, &source, progress)?;
        // Another process may have finished it while this one waited for its lock.
        if is_there(file, path) {
            part.discard();
            return Ok(());
        }
        match self.attempts(file, &url, &mut part, progress) {
            Ok(()) => part.finish(path),
            Err(error) => {
                // A part that cannot become the file would stand in the way of the next download.
                let useless =
                    matches!(error, Error::Checksum { .. } | Error::Length { .. } | Error::TooLarge { .. });
                if !useless {
                    // What waits and cannot be written is asked for again by the next call.
                    let _ = part.flush();
                }
                if useless || part.done == 0 {
                    part.discard();
                }
                Err(error)
            }
        }
    }

    /// Attempts until the whole file is in the part, one cannot be helped, or too many in a row brought nothing.
    fn attempts(
        &self,
        file: &RemoteFile,
        url: &Url,
        part: &mut Part,
        progress: Progress<'_>,
    ) -> Result<(), Error> {
        let (mut failures, mut most) = (0, part.done);
        loop {
            let error = match self.attempt(file, url, part, progress) {
                Ok(()) => return Ok(()),
                Err(Failure::Final(error)) => return Err(error),
                Err(Failure::Retry(error)) => error,
            };
            if part.done >= most + PROGRESS_BYTES {
                failures = 0;
                most = part.done;
            }
            failures += 1;
            if failures >= self.options.attempts.max(1) {
                return Err(error);
            }
            let (done, total) = (part.done, part.origin.total);
            self.wait(failures, &mut || progress(done, total))?;
        }
    }

    /// Asks for what is missing and takes what comes, to the end of the file.
    fn attempt(
        &self,
        file: &RemoteFile,
        url: &Url,
        part: &mut Part,
        progress: Progress<'_>,
    ) -> Result<(), Failure> {
        let expected = file.sha256.as_deref();
        if part.done > 0 && !(part.can_continue() || expected.is_some()) {
            part.clear()?;
        }
        let is_whole = part.done > 0 && part.origin.total == Some(part.done);
        if !is_whole {
            let answer = self.get(url, &range(part))?;
            let body = self.accept(file, url, part, answer)?;
            self.take(url, part, body, progress)?;
        }
        let expected = expected.or(part.origin.sha256.as_deref()).map(str::to_lowercase);
        let found = part.sha256()?;
        match expected {
            Some(expected) if expected != found => {
                let error = Error::Checksum { url: url.shown(), expected, found };
                // What was put together from several answers may be right in one piece.
                if !part.resumed {
                    return Err(Failure::Final(error));
                }
                part.clear()?;
                Err(Failure::Retry(error))
            }
            _ => Ok(()),
        }
    }

    /// Looks at the head of an answer, and prepares the part for what comes.
    fn accept(
        &self,
        file: &RemoteFile,
        url: &Url,
        part: &mut Part,
        answer: Answer,
    ) -> Result<ureq::Body, Failure> {
        let (head, body) = answer.response.into_parts();
        let strange = |why: String| Error::Answer { url: url.shown(), why };
        let coding = head.headers.get(header::CONTENT_ENCODING);
        if let Some(coding) = coding.filter(|coding| *coding != "identity") {
            return Err(strange(format!("it is compressed ({coding:?})")).into());
        }
        let validator = validator(&head.headers);
        let changed = Error::Changed { url: url.shown() };
        match head.status.as_u16() {
            200 => {
                let total = body.content_length();
                self.check_length(file, url, total)?;
                let source = part.origin.source.clone();
                part.begin(Origin { source, validator, sha256: answer.sha256, total })?;
            }
            206 => {
                let (first, total) = content_range(&head.headers).ok_or_else(|| {
                    Failure::Retry(strange("a part without a usable Content-Range".to_owned()))
                })?;
                if part.done == 0 {
                    return Err(Failure::Retry(strange("a part, where all was asked for".to_owned())));
                }
                let differs =
                    |old: &Option<String>, new: &Option<String>| old.is_some() && new.is_some() && old != new;
                let other = first != part.done
                    || part.origin.total.is_some_and(|old| old != total)
                    || differs(&part.origin.validator, &validator)
                    || differs(&part.origin.sha256, &answer.sha256);
                if other {
                    part.clear()?;
                    return Err(Failure::Retry(changed));
                }
                self.check_length(file, url, Some(total))?;
                part.origin.total = Some(total);
                part.resumed = true;
            }
            // Nothing there where this part ends: the file is a shorter one now.
            _ if part.done > 0 => {
                part.clear()?;
                return Err(Failure::Retry(changed));
            }
            status => return Err(strange(format!("status {status} without a range")).into()),
        }
        Ok(body)
    }

    fn check_length(&self, file: &RemoteFile, url: &Url, total: Option<u64>) -> Result<(), Error> {
        let Some(total) = total else { return Ok(()) };
        if total > self.options.bytes_max {
            return Err(Error::TooLarge { url: url.shown(), bytes_max: self.options.bytes_max });
        }
        match file.bytes {
            Some(expected) if expected != total => {
                Err(Error::Length { url: url.shown(), expected, found: total })
            }
            _ => Ok(()),
        }
    }

    fn take(
        &self,
        url: &Url,
        part: &mut Part,
        body: ureq::Body,
        progress: Progress<'_>,
    ) -> Result<(), Failure> {
        let total = part.origin.total;
        let most = total.unwrap_or(self.options.bytes_max);
        let mut reader = body.into_with_config().limit(u64::MAX).reader();
        let mut buffer = vec![0; BUFFER_BYTES];
        let cut = |why: String| Failure::Retry(Error::Connection { url: url.shown(), why });
        loop {
            if progress(part.done, total).is_break() {
                return Err(Error::Cancelled.into());
            }
            let n = reader.read(&mut buffer).map_err(|error| cut(error.to_string()))?;
            if n == 0 {
                break;
            }
            if part.done + n as u64 > most {
                return Err(Error::TooLarge { url: url.shown(), bytes_max: most }.into());
            }
            part.write(&buffer[..n])?;
        }
        match total {
            Some(total) if part.done < total => {
                Err(cut(format!("the connection ended after {} of {total} bytes", part.done)))
            }
            _ => Ok(()),
        }
    }
}

fn is_there(file: &RemoteFile, path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|found| found.is_file() && file.bytes.is_none_or(|n| n == found.len()))
}

fn range(part: &Part) -> Vec<(&'static str, String)> {
    if part.done == 0 {
        return vec![];
    }
    let mut headers = vec![("range", format!("bytes={}-", part.done))];
    headers.extend(part.origin.validator.clone().map(|validator| ("if-range", validator)));
    headers
}

/// What names this state of the file: a strong ETag, or else the time of its last change.
fn validator(headers: &HeaderMap) -> Option<String> {
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
    text(header::ETAG).filter(|tag| tag.starts_with('"')).or_else(|| text(header::LAST_MODIFIED))
}

/// First byte and length of the whole out of `bytes 5-9/10`, which must lead to the end.
fn content_range(headers: &HeaderMap) -> Option<(u64, u64)> {
    let text = headers.get(header::CONTENT_RANGE)?.to_str().ok()?;
    let (range, total) = text.strip_prefix("bytes ")?.split_once('/')?;
    let (first, last) = range.split_once('-')?;
    let (first, last, total): (u64, u64, u64) =
        (first.parse().ok()?, last.parse().ok()?, total.parse().ok()?);
    (first <= last && last.checked_add(1) == Some(total)).then_some((first, total))
}
