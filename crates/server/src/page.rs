//! The page at `/`: a chat in the browser over the routes beside it, in files that the program carries with it.

use std::hash::{DefaultHasher, Hash, Hasher};

use axum::extract::Path;
use axum::http::{HeaderMap, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};

use crate::{ApiError, info};

/// The page may load what this server has and nothing else, and no text of it ever becomes a script or markup.
const POLICY: &str = "default-src 'self'; object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; \
    require-trusted-types-for 'script'; trusted-types 'none'";

const HTML: &str = "text/html; charset=utf-8";
const STYLE: &str = "text/css; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";

const INDEX: &str = include_str!("page/index.html");

/// What `index.html` refers to: name, type, content.
const FILES: [(&str, &str, &str); 21] = [
    ("answers.js", SCRIPT, include_str!("page/answers.js")),
    ("api.js", SCRIPT, include_str!("page/api.js")),
    ("blocks.js", SCRIPT, include_str!("page/blocks.js")),
    ("composer.js", SCRIPT, include_str!("page/composer.js")),
    ("dom.js", SCRIPT, include_str!("page/dom.js")),
    ("figures.js", SCRIPT, include_str!("page/figures.js")),
    ("icon.svg", "image/svg+xml", include_str!("page/icon.svg")),
    ("inline.js", SCRIPT, include_str!("page/inline.js")),
    ("keep.js", SCRIPT, include_str!("page/keep.js")),
    ("main.js", SCRIPT, include_str!("page/main.js")),
    ("markdown.js", SCRIPT, include_str!("page/markdown.js")),
    ("notice.js", SCRIPT, include_str!("page/notice.js")),
    ("scroll.js", SCRIPT, include_str!("page/scroll.js")),
    ("settings.js", SCRIPT, include_str!("page/settings.js")),
    ("side.js", SCRIPT, include_str!("page/side.js")),
    ("store.js", SCRIPT, include_str!("page/store.js")),
    ("style.css", STYLE, include_str!("page/style.css")),
    ("text.css", STYLE, include_str!("page/text.css")),
    ("theme.js", SCRIPT, include_str!("page/theme.js")),
    ("thread.js", SCRIPT, include_str!("page/thread.js")),
    ("transfer.js", SCRIPT, include_str!("page/transfer.js")),
];

/// `GET /`: the page for browsers, which ask for HTML by name, and a few words for everything else.
pub(crate) async fn root(headers: HeaderMap) -> Response {
    let accepts = headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok());
    let mut response = match accepts.into_iter().any(|accept| accept.contains("text/html")) {
        true => respond(&headers, HTML, INDEX),
        false => info::root().await.into_response(),
    };
    response.headers_mut().insert(header::VARY, header::HeaderValue::from_static("accept"));
    response
}

/// `GET /page/NAME`.
pub(crate) async fn file(
    Path(name): Path<String>,
    headers: HeaderMap,
    uri: Uri,
) -> Result<Response, ApiError> {
    let found = FILES.iter().find(|(each, _, _)| *each == name);
    let &(_, kind, content) = found.ok_or_else(|| ApiError::NoRoute(uri.path().to_owned()))?;
    Ok(respond(&headers, kind, content))
}

/// A file, unless the browser has it already: it asks each time, so that a new program brings its own page.
fn respond(headers: &HeaderMap, kind: &'static str, content: &'static str) -> Response {
    let mut hasher = DefaultHasher::new();
    content.hash(&mut hasher);
    let tag = format!("\"{:016x}\"", hasher.finish());
    let is_known = headers.get(header::IF_NONE_MATCH).is_some_and(|value| value.as_bytes() == tag.as_bytes());
    let shared = [
        (header::ETAG, tag.as_str()),
        (header::CACHE_CONTROL, "no-cache"),
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
    ];
    match is_known {
        true => (StatusCode::NOT_MODIFIED, shared).into_response(),
        false => (shared, [(header::CONTENT_TYPE, kind)], content).into_response(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Names that a file refers to between two marks.
    fn named<'a>(text: &'a str, before: &str, after: char) -> Vec<&'a str> {
        text.split(before).skip(1).filter_map(|rest| rest.split(after).next()).collect()
    }

    #[test]
    fn every_file_that_is_referred_to_is_served_and_every_file_is_referred_to() {
        let mut names = named(INDEX, "\"page/", '"');
        for (_, _, content) in FILES.iter().filter(|(_, kind, _)| *kind == SCRIPT) {
            names.extend(named(content, "from './", '\''));
        }
        names.sort_unstable();
        names.dedup();
        assert_eq!(names, FILES.map(|(name, _, _)| name));
    }

    #[test]
    fn nothing_in_the_files_makes_markup_of_text_or_names_another_host() {
        for (name, _, content) in FILES.iter().chain(&[("index.html", HTML, INDEX)]) {
            for word in [
                "innerHTML",
                "outerHTML",
                "insertAdjacentHTML",
                "document.write",
                "eval(",
                " style=",
                " onclick=",
            ] {
                assert!(!content.contains(word), "{name}: {word}");
            }
            let hosts: Vec<&str> =
                named(content, "http://", '/').into_iter().chain(named(content, "https://", '/')).collect();
            assert!(hosts.iter().all(|host| *host == "www.w3.org"), "{name}: {hosts:?}");
        }
    }
}
