//! Pages of other sites.

use serde_json::json;
use server::ServerOptions;
use ureq::http::{HeaderMap, Response};

use crate::support::{Running, chat, model, start, start_with};

const CHAT: &str = "/v1/chat/completions";
const ORIGIN: &str = "http://localhost:3000";

fn with(origins: &[&str]) -> Running {
    let cors_origins = origins.iter().map(|origin| (*origin).to_owned()).collect();
    let api_keys = vec!["key".to_owned()];
    start_with(model(), ServerOptions { cors_origins, api_keys, ..ServerOptions::default() })
}

/// A browser's question whether a page may send a request with a key.
fn question(running: &Running, origin: &str) -> Response<ureq::Body> {
    let request = ureq::options(format!("http://{}{CHAT}", running.address));
    let request = request.header("Origin", origin).header("Access-Control-Request-Method", "POST");
    let request =
        request.header("Access-Control-Request-Headers", "authorization,content-type,x-stainless-os");
    request.config().http_status_as_error(false).build().call().unwrap()
}

fn asked(running: &Running, origin: &str, key: &str) -> Response<ureq::Body> {
    let request = ureq::post(format!("http://{}{CHAT}", running.address));
    let request = request.header("Origin", origin).header("Authorization", format!("Bearer {key}"));
    let request = request.config().http_status_as_error(false).build();
    request.send(chat("hi", json!({"x": 1})).to_string().as_bytes()).unwrap()
}

fn allows(headers: &HeaderMap) -> Vec<&str> {
    let cors = headers.iter().filter(|(name, _)| name.as_str().starts_with("access-control"));
    let allowed = headers.get_all("access-control-allow-origin").iter();
    let allowed: Vec<&str> = allowed.map(|value| value.to_str().unwrap()).collect();
    assert!(cors.count() == 0 || allowed.len() == 1, "{headers:?}");
    allowed
}

#[test]
fn pages_of_known_origins_may_ask_with_a_key_and_see_errors_too() {
    let running = with(&["https://example.com", ORIGIN]);
    let told = question(&running, ORIGIN);
    assert_eq!((told.status().as_u16(), allows(told.headers())), (204, vec![ORIGIN]));
    let of = |name: &str| told.headers()[name].to_str().unwrap().to_ascii_lowercase();
    assert!(of("access-control-allow-methods").contains("post"));
    assert!(of("access-control-allow-headers").contains("authorization"));
    assert!(of("access-control-allow-headers").contains("x-stainless-os"));
    let answer = asked(&running, ORIGIN, "key");
    assert_eq!((answer.status().as_u16(), allows(answer.headers())), (200, vec![ORIGIN]));
    assert_eq!(answer.headers()["access-control-expose-headers"], "minfer-ignored-fields, retry-after");
    assert_eq!(answer.headers()["vary"], "origin");
    let refused = asked(&running, ORIGIN, "other");
    assert_eq!((refused.status().as_u16(), allows(refused.headers())), (401, vec![ORIGIN]));
}

#[test]
fn other_origins_get_no_header_and_any_may_where_all_may() {
    let running = with(&[ORIGIN]);
    for origin in
        ["http://localhost:3001", "https://localhost:3000", "null", "http://localhost:3000.evil.com"]
    {
        let told = question(&running, origin);
        assert_eq!((told.status().as_u16(), allows(told.headers()).len()), (405, 0), "{origin}");
        assert!(allows(asked(&running, origin, "key").headers()).is_empty(), "{origin}");
    }
    let open = with(&["*"]);
    assert_eq!(allows(question(&open, "http://anywhere.net").headers()), ["*"]);
    assert_eq!(allows(asked(&open, "null", "key").headers()), ["*"]);
    let closed = start();
    assert!(allows(question(&closed, ORIGIN).headers()).is_empty());
    assert!(!asked(&closed, ORIGIN, "key").headers().contains_key("vary"));
}
