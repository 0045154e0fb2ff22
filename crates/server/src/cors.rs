//! Which pages of other sites may ask.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use crate::Server;

/// Seconds for which a browser need not ask again whether it may.
const MAX_AGE: HeaderValue = HeaderValue::from_static("600");

/// Lets a browser give responses to the pages that may have them, and answers it when it asks whether it may send a request.
/// It asks without a key, so this comes before keys are looked at.
pub(crate) async fn allow(State(server): State<Arc<Server>>, request: Request, next: Next) -> Response {
    let origins = &server.options.cors_origins;
    if origins.is_empty() {
        return next.run(request).await;
    }
    let allowed = allowed(origins, request.headers());
    let asked = request.headers().get(header::ACCESS_CONTROL_REQUEST_HEADERS).cloned();
    let is_question = request.method() == Method::OPTIONS
        && request.headers().contains_key(header::ACCESS_CONTROL_REQUEST_METHOD);
    let mut response = match is_question && allowed.is_some() {
        true => StatusCode::NO_CONTENT.into_response(),
        false => next.run(request).await,
    };
    let headers = response.headers_mut();
    headers.append(header::VARY, HeaderValue::from_static("origin"));
    if let Some(origin) = allowed {
        headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
        headers.insert(
            header::ACCESS_CONTROL_EXPOSE_HEADERS,
            HeaderValue::from_static("minfer-ignored-fields, retry-after"),
        );
        if is_question {
            headers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static("GET, POST"));
            // Whatever it wants to send, `authorization` too, which `*` would leave out.
            let asked = asked.unwrap_or(HeaderValue::from_static("authorization, content-type"));
            headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, asked);
            headers.insert(header::ACCESS_CONTROL_MAX_AGE, MAX_AGE);
        }
    }
    response
}

/// What the response says of a page's origin, if the page may have it.
fn allowed(origins: &[String], headers: &HeaderMap) -> Option<HeaderValue> {
    let origin = headers.get(header::ORIGIN)?;
    if origins.iter().any(|known| known == "*") {
        return Some(HeaderValue::from_static("*"));
    }
    origins.iter().any(|known| known.as_bytes() == origin.as_bytes()).then(|| origin.clone())
}
