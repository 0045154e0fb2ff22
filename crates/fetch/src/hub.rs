//! What a repository of the hub holds.

use std::ops::ControlFlow;

use serde_json::Value as Json;
use ureq::http::{HeaderMap, header};

use crate::choose::choose;
use crate::client::is_sha256;
use crate::error::Failure;
use crate::url::{Url, escaped};
use crate::{Client, Error, Reference, RemoteFile};

/// Bytes of one answer about a repository.
const LISTING_BYTES_MAX: u64 = 16 << 20;
/// Answers of one listing, a thousand files each.
const PAGES_MAX: usize = 32;

impl Client {
    /// The model that a reference means: one file, or all parts of a split one in order, with lengths and checksums
    /// where the hub tells them.
    ///
    /// With QUANT it is the file that has it in its name; without, Q4_K_M goes before Q4_0, and those before the only
    /// one. Several that fit are an error that lists them.
    pub fn find(&self, reference: &Reference) -> Result<Vec<RemoteFile>, Error> {
        choose(reference, self.list(reference)?)
    }

    /// All files of a repository. Lengths and checksums come from the tree; a mirror without it is asked for the bare
    /// list of names.
    fn list(&self, reference: &Reference) -> Result<Vec<RemoteFile>, Error> {
        let base = format!("{}/api/models/{}", self.options.mirror, reference.repository());
        match self.tree(reference, &format!("{base}/tree/main?recursive=1")) {
            Err(Error::NotFound { .. }) => {
                let (json, _) = self.json(&Url::parse(&base)?)?;
                let names = json["siblings"].as_array().into_iter().flatten();
                Ok(names.filter_map(|entry| self.file(reference, entry["rfilename"].as_str()?)).collect())
            }
            found => found,
        }
    }

    fn tree(&self, reference: &Reference, first: &str) -> Result<Vec<RemoteFile>, Error> {
        let mut files = Vec::new();
        let mut url = Url::parse(first)?;
        for _ in 0..PAGES_MAX {
            let (json, headers) = self.json(&url)?;
            let why = || "it is no list of files".to_owned();
            let entries = json.as_array().ok_or_else(|| Error::Answer { url: url.shown(), why: why() })?;
            files.extend(entries.iter().filter_map(|entry| {
                if entry["type"] != "file" {
                    return None;
                }
                let sha256 = entry["lfs"]["oid"].as_str().filter(|oid| is_sha256(oid)).map(str::to_lowercase);
                let file = self.file(reference, entry["path"].as_str()?)?;
                Some(RemoteFile { bytes: entry["size"].as_u64(), sha256, ..file })
            }));
            match next_page(&headers) {
                None => return Ok(files),
                Some(next) => url = url.join(next)?,
            }
        }
        Err(Error::Answer { url: url.shown(), why: format!("a list of more than {PAGES_MAX} pages") })
    }

    fn file(&self, reference: &Reference, name: &str) -> Option<RemoteFile> {
        let (mirror, repository) = (&self.options.mirror, reference.repository());
        let url = format!("{mirror}/{repository}/resolve/main/{}", escaped(name));
        Some(RemoteFile { url, name: name.to_owned(), bytes: None, sha256: None })
    }

    /// A JSON answer and its head, with as many attempts as are allowed.
    fn json(&self, url: &Url) -> Result<(Json, HeaderMap), Error> {
        let mut failures = 0;
        loop {
            let error = match self.json_once(url) {
                Ok(found) => return Ok(found),
                Err(Failure::Final(error)) => return Err(error),
                Err(Failure::Retry(error)) => error,
            };
            failures += 1;
            if failures >= self.options.attempts.max(1) {
                return Err(error);
            }
            self.wait(failures, &mut || ControlFlow::Continue(()))?;
        }
    }

    fn json_once(&self, url: &Url) -> Result<(Json, HeaderMap), Failure> {
        let answer = self.get(url, &[])?;
        let (head, mut body) = answer.response.into_parts();
        let bytes = body.with_config().limit(LISTING_BYTES_MAX).read_to_vec();
        let bytes = bytes.map_err(|error| match error {
            ureq::Error::BodyExceedsLimit(bytes_max) => {
                Failure::Final(Error::TooLarge { url: url.shown(), bytes_max })
            }
            error => Failure::Retry(Error::Connection { url: url.shown(), why: error.to_string() }),
        })?;
        let json = serde_json::from_slice(&bytes);
        let json = json.map_err(|error| Error::Answer { url: url.shown(), why: error.to_string() })?;
        Ok((json, head.headers))
    }
}

/// The `next` of a `Link` header.
fn next_page(headers: &HeaderMap) -> Option<&str> {
    let links = headers.get(header::LINK)?.to_str().ok()?;
    let next = links.split(',').find(|link| link.contains("rel=\"next\""))?;
    next.trim().strip_prefix('<')?.split_once('>').map(|(url, _)| url)
}
