//! Who may ask.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use subtle::{Choice, ConstantTimeEq};

use crate::{ApiError, Server};

/// Lets requests with a known key through.
pub(crate) async fn check(State(server): State<Arc<Server>>, request: Request, next: Next) -> Response {
    if is_allowed(&server.options.api_keys, request.headers()) {
        next.run(request).await
    } else {
        ApiError::Key.into_response()
    }
}

/// Takes as long whatever the key and wherever it differs; only its length may show.
fn is_allowed(keys: &[String], headers: &HeaderMap) -> bool {
    if keys.is_empty() {
        return true;
    }
    let given = headers.get(header::AUTHORIZATION).and_then(|value| value.as_bytes().split_at_checked(7));
    let Some((_, given)) = given.filter(|(scheme, _)| scheme.eq_ignore_ascii_case(b"Bearer ")) else {
        return false;
    };
    let mut found = Choice::from(0);
    for key in keys {
        found |= key.as_bytes().ct_eq(given);
    }
    found.into()
}
