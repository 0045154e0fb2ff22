//! Fields that nobody knows, and how a response tells that they were left out.

use axum::http::{HeaderName, HeaderValue};
use axum::response::{IntoResponseParts, ResponseParts};
use std::convert::Infallible;

/// The header with the names.
const HEADER: HeaderName = HeaderName::from_static("minfer-ignored-fields");
/// Names that are told.
const NAMES_MAX: usize = 16;
/// Characters of a name that are told.
const NAME_MAX: usize = 64;

/// Names of fields that had no effect. Beside a response it becomes a header, if there are any.
#[derive(Debug, Default)]
pub(crate) struct Ignored {
    names: Vec<String>,
    /// Whether there were more than are told.
    has_more: bool,
    /// Names that were asked for, which the published document is held against.
    #[cfg(test)]
    pub asked: std::collections::BTreeSet<String>,
}

impl Ignored {
    pub fn add(&mut self, name: &str) {
        if self.names.len() == NAMES_MAX {
            self.has_more = true;
            return;
        }
        // Names come from outside: what a list in a header cannot hold is replaced.
        let plain = |c: char| if c.is_ascii_graphic() && c != ',' { c } else { '?' };
        let mut told: String = name.chars().take(NAME_MAX).map(plain).collect();
        if name.chars().nth(NAME_MAX).is_some() {
            told.push_str("...");
        }
        self.names.push(told);
    }

    pub fn extend(&mut self, other: Ignored) {
        other.names.iter().for_each(|name| self.add(name));
        self.has_more |= other.has_more;
        #[cfg(test)]
        self.asked.extend(other.asked);
    }

    fn told(&self) -> String {
        self.names.join(", ") + if self.has_more { ", ..." } else { "" }
    }
}

impl IntoResponseParts for Ignored {
    type Error = Infallible;

    fn into_response_parts(self, mut response: ResponseParts) -> Result<ResponseParts, Infallible> {
        if !self.names.is_empty() {
            let value = HeaderValue::from_str(&self.told()).expect("names are plain");
            response.headers_mut().insert(HEADER, value);
        }
        Ok(response)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_from_outside_become_a_short_plain_list() {
        let mut ignored = Ignored::default();
        ignored.add("a\r\nb,c ü");
        ignored.add(&"x".repeat(100));
        assert_eq!(ignored.told(), format!("a??b?c??, {}...", "x".repeat(64)));
        let mut many = Ignored::default();
        (0..100_000).for_each(|i| many.add(&format!("{i}{}", "y".repeat(500))));
        ignored.extend(many);
        assert!(ignored.told().len() < 1200 && ignored.told().ends_with(", ..."), "{}", ignored.told());
    }
}
