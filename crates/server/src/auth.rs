//! Who may ask, and how often.

use std::sync::Arc;
use std::time::Instant;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, Method, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use subtle::{Choice, ConditionallySelectable, ConstantTimeEq};

use crate::{ApiError, Server};

/// Lets requests with a known key through, and of those that are work as many as the key may send.
pub(crate) async fn check(State(server): State<Arc<Server>>, request: Request, next: Next) -> Response {
    let Some(key) = key(&server.options.api_keys, request.headers()) else {
        return ApiError::Key.into_response();
    };
    if let Some(rate) = server.rate.as_ref().filter(|_| request.method() == Method::POST)
        && let Err(wait) = rate.take(key, Instant::now())
    {
        let seconds = wait.as_secs() + 1;
        return ApiError::TooOften { per_minute: rate.per_minute.get(), seconds }.into_response();
    }
    next.run(request).await
}

/// Which of the keys a request has; the first where there are none. Takes as long whatever the key and wherever it differs;
/// only its length may show.
fn key(keys: &[String], headers: &HeaderMap) -> Option<usize> {
    if keys.is_empty() {
        return Some(0);
    }
    let given = headers.get(header::AUTHORIZATION).and_then(|value| value.as_bytes().split_at_checked(7));
    let (_, given) = given.filter(|(scheme, _)| scheme.eq_ignore_ascii_case(b"Bearer "))?;
    let (mut found, mut which) = (Choice::from(0), 0);
    for (index, key) in keys.iter().enumerate() {
        let is_same = key.as_bytes().ct_eq(given);
        which = u64::conditional_select(&which, &(index as u64), is_same);
        found |= is_same;
    }
    bool::from(found).then_some(which as usize)
}
