//! A file on a server, and what is known of it before it is fetched.

use std::path::PathBuf;

use crate::url::Url;
use crate::{Error, safe_path};

/// A file that can be fetched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemoteFile {
    /// Where it is: `http` or `https`.
    pub url: String,
    /// Its name, with slashes if it lies in folders. Chosen by the server: use [`path`](Self::path).
    pub name: String,
    /// Its length in bytes, if known.
    pub bytes: Option<u64>,
    /// Its checksum in lower case, if known.
    pub sha256: Option<String>,
}

impl RemoteFile {
    /// The files that a URL stands for: itself, or all parts if its name ends in `-00001-of-00003.gguf`.
    ///
    /// The name of the file is the last part of the URL's path. It must end in `.gguf`.
    pub fn from_url(text: &str) -> Result<Vec<RemoteFile>, Error> {
        let url = Url::parse(text)?;
        let name = url.path().rsplit('/').next().unwrap_or_default().to_owned();
        if !is_gguf(&name) {
            let why = "its path does not end in the name of a .gguf file";
            return Err(Error::Url { url: url.shown(), why });
        }
        safe_path(&name)?;
        let names = part_names(&name);
        let file = |part: String| RemoteFile {
            url: url.as_str().replacen(&format!("/{name}"), &format!("/{part}"), 1),
            name: part,
            bytes: None,
            sha256: None,
        };
        Ok(names.into_iter().map(file).collect())
    }

    /// Its name as a relative path that cannot leave the folder it is joined to.
    pub fn path(&self) -> Result<PathBuf, Error> {
        safe_path(&self.name)
    }
}

/// The names of all parts of the model that a file belongs to, in order: of `m-00002-of-00003.gguf` three, of any
/// other file its own.
pub fn part_names(name: &str) -> Vec<String> {
    Split::of(name).map_or_else(|| vec![name.to_owned()], |split| split.names())
}

/// Whether a name ends as GGUF files' do.
pub(crate) fn is_gguf(name: &str) -> bool {
    name.to_lowercase().ends_with(".gguf") && name.len() > ".gguf".len()
}

/// A name of the form `STEM-00002-of-00003.gguf`.
#[derive(Debug, PartialEq)]
pub(crate) struct Split<'a> {
    pub stem: &'a str,
    /// At least 2.
    pub count: usize,
}

impl<'a> Split<'a> {
    /// More parts than any model has.
    const COUNT_MAX: usize = 1000;

    pub fn of(name: &'a str) -> Option<Split<'a>> {
        let number = |digits: &str| digits.parse().ok().filter(|_| digits.len() == 5);
        let (head, count) = name.strip_suffix(".gguf")?.rsplit_once("-of-")?;
        let (stem, part) = head.rsplit_once('-')?;
        let (part, count): (usize, usize) = (number(part)?, number(count)?);
        ((2..=Self::COUNT_MAX).contains(&count) && (1..=count).contains(&part))
            .then_some(Split { stem, count })
    }

    /// The names of all parts, in order.
    pub fn names(&self) -> Vec<String> {
        (1..=self.count).map(|part| format!("{}-{part:05}-of-{:05}.gguf", self.stem, self.count)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_of_one_part_stands_for_all() {
        let files = RemoteFile::from_url("http://a.example/x/m-00002-of-00003.gguf?download=true").unwrap();
        let urls: Vec<_> = files.iter().map(|file| file.url.as_str()).collect();
        let url = |part| format!("http://a.example/x/m-0000{part}-of-00003.gguf?download=true");
        assert_eq!(urls, [url(1), url(2), url(3)]);
        assert_eq!(files[2].name, "m-00003-of-00003.gguf");
    }

    #[test]
    fn a_url_that_names_no_gguf_file_is_refused() {
        for url in
            ["http://a.example/", "http://a.example/x.bin", "http://a.example/.gguf", "http://a.example"]
        {
            assert!(matches!(RemoteFile::from_url(url), Err(Error::Url { .. })), "{url}");
        }
    }

    #[test]
    fn names_that_only_look_like_parts_are_single_files() {
        for name in [
            "m.gguf",
            "m-00000-of-00002.gguf",
            "m-00003-of-00002.gguf",
            "m-1-of-2.gguf",
            "m-00001-of-00001.gguf",
        ] {
            assert_eq!(Split::of(name), None, "{name}");
        }
    }
}
