//! URLs: what is asked, whom it belongs to, and where a redirect leads.

use ureq::http::Uri;

use crate::Error;

/// An absolute `http` or `https` URL without a user in it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Url {
    uri: Uri,
}

/// Who gets a token: the same scheme, host and port.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Origin {
    https: bool,
    host: String,
    port: u16,
}

impl Url {
    pub fn parse(text: &str) -> Result<Url, Error> {
        let refuse = |why| Error::Url { url: shown(text).to_owned(), why };
        let uri: Uri = text.parse().map_err(|_| refuse("it cannot be read"))?;
        match uri.scheme_str() {
            Some("http" | "https") => {}
            _ => return Err(refuse("it does not begin with http:// or https://")),
        }
        let authority = uri.authority().filter(|a| !a.host().is_empty());
        let authority = authority.ok_or_else(|| refuse("it names no host"))?;
        if authority.as_str().contains('@') {
            return Err(refuse("it holds a user or a password"));
        }
        Ok(Url { uri })
    }

    pub fn as_str(&self) -> String {
        self.uri.to_string()
    }

    /// For messages.
    pub fn shown(&self) -> String {
        shown(&self.as_str()).to_owned()
    }

    pub fn path(&self) -> &str {
        self.uri.path()
    }

    pub fn is_https(&self) -> bool {
        self.uri.scheme_str() == Some("https")
    }

    pub fn origin(&self) -> Origin {
        let https = self.is_https();
        let port = self.uri.port_u16().unwrap_or(if https { 443 } else { 80 });
        Origin { https, host: self.uri.host().unwrap_or_default().to_lowercase(), port }
    }

    /// Where a `Location` leads from here.
    pub fn join(&self, location: &str) -> Result<Url, Error> {
        let scheme = self.uri.scheme_str().unwrap_or_default();
        let authority = self.uri.authority().map_or("", |a| a.as_str());
        let lower = location.to_ascii_lowercase();
        if lower.starts_with("http://") || lower.starts_with("https://") {
            Url::parse(location)
        } else if location.starts_with("//") {
            Url::parse(&format!("{scheme}:{location}"))
        } else if location.starts_with('/') {
            Url::parse(&format!("{scheme}://{authority}{location}"))
        } else if location.starts_with('?') {
            Url::parse(&format!("{scheme}://{authority}{}{location}", self.path()))
        } else {
            let folder = self.path().rsplit_once('/').map_or("", |(folder, _)| folder);
            Url::parse(&format!("{scheme}://{authority}{folder}/{location}"))
        }
    }
}

/// The text without its query.
fn shown(text: &str) -> &str {
    text.split(['?', '#']).next().unwrap_or_default()
}

/// A path for a URL: everything but letters, digits, `-._~` and slashes is escaped.
pub(crate) fn escaped(path: &str) -> String {
    let mut out = String::new();
    for byte in path.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                out.push(byte.into())
            }
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_location_is_absolute_or_relative_to_who_gave_it() {
        let from = Url::parse("https://a.example:8443/x/y?q=1").unwrap();
        let leads = |location: &str| from.join(location).unwrap().as_str();
        assert_eq!(leads("http://b.example/z"), "http://b.example/z");
        assert_eq!(leads("//c.example/z"), "https://c.example/z");
        assert_eq!(leads("/z?k=v"), "https://a.example:8443/z?k=v");
        assert_eq!(leads("z"), "https://a.example:8443/x/z");
        assert_eq!(leads("?z"), "https://a.example:8443/x/y?z");
        assert!(from.join("ftp://b.example/").is_ok_and(|url| url.path() == "/x/ftp://b.example/"));
    }

    #[test]
    fn origins_are_equal_with_and_without_the_usual_port_and_in_any_case() {
        let origin = |text| Url::parse(text).unwrap().origin();
        assert_eq!(origin("https://A.example/x"), origin("https://a.example:443/y"));
        assert_ne!(origin("https://a.example/"), origin("http://a.example/"));
        assert_ne!(origin("https://a.example/"), origin("https://a.example:8443/"));
        assert_ne!(origin("https://a.example/"), origin("https://a.example.evil/"));
    }

    #[test]
    fn what_is_no_plain_web_address_is_refused() {
        for text in
            ["", "model.gguf", "ftp://a.example/x", "file:///etc/passwd", "https://", "http://u:p@a.example/"]
        {
            assert!(matches!(Url::parse(text), Err(Error::Url { .. })), "{text:?}");
        }
    }
}
