//! `ORG/REPO:QUANT`: a repository of a hub, and which of its files.

use std::fmt;
use std::str::FromStr;

use crate::Error;

/// A repository, and a part of the name of the file that is wanted.
///
/// Read from `ORG/REPO` or `ORG/REPO:QUANT`, with or without `hf:` before it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reference {
    org: String,
    repo: String,
    quant: Option<String>,
}

impl Reference {
    /// ORG/REPO; both are single names that are safe in paths and URLs.
    pub fn repository(&self) -> String {
        format!("{}/{}", self.org, self.repo)
    }

    /// The part of the file's name, in upper case, if one was given.
    pub fn quant(&self) -> Option<&str> {
        self.quant.as_deref()
    }
}

impl FromStr for Reference {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let refuse = |why| Error::Reference { text: text.to_owned(), why };
        let rest = text.strip_prefix("hf:").unwrap_or(text);
        let (repository, quant) = match rest.split_once(':') {
            Some((repository, quant)) => (repository, Some(quant)),
            None => (rest, None),
        };
        let (org, repo) = repository.split_once('/').ok_or_else(|| refuse("there is no slash"))?;
        for name in [Some(org), Some(repo), quant].into_iter().flatten() {
            if !is_plain(name) {
                return Err(refuse(
                    "names are letters, digits, `-`, `_` and `.`, and do not begin with a dot",
                ));
            }
        }
        Ok(Reference { org: org.into(), repo: repo.into(), quant: quant.map(str::to_uppercase) })
    }
}

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "hf:{}/{}", self.org, self.repo)?;
        self.quant.iter().try_for_each(|quant| write!(f, ":{quant}"))
    }
}

fn is_plain(name: &str) -> bool {
    let fits = |b: u8| b.is_ascii_alphanumeric() || b"-_.".contains(&b);
    (1..=100).contains(&name.len()) && !name.starts_with('.') && name.bytes().all(fits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reference_reads_with_and_without_its_prefix_and_quant() {
        for (text, shown) in [
            ("hf:Org/Repo-GGUF", "hf:Org/Repo-GGUF"),
            ("Org/Repo-GGUF", "hf:Org/Repo-GGUF"),
            ("hf:Org/Repo.1:q4_k_m", "hf:Org/Repo.1:Q4_K_M"),
        ] {
            assert_eq!(text.parse::<Reference>().unwrap().to_string(), shown);
        }
    }

    #[test]
    fn what_is_no_repository_is_refused() {
        for text in [
            "", "hf:", "a", "a/", "/b", "a/b/c", "a/..", "../b", "a/b:", "a/b:c/d", "a/b:c:d", "a b/c",
            "a/b?c",
        ] {
            assert!(matches!(text.parse::<Reference>(), Err(Error::Reference { .. })), "{text:?}");
        }
    }
}
