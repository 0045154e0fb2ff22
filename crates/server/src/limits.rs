//! How long requests may take.

use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use axum::extract::{FromRequest, Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use tokio::time::timeout;

use crate::generation::body;
use crate::{ApiError, Server};

/// Reads a body within its time, and goes on when all of it is here.
pub(crate) async fn read_body(State(server): State<Arc<Server>>, request: Request, next: Next) -> Response {
    let (limit, bytes) = (server.options.body_time, server.options.body_limit);
    let (parts, rest) = request.into_parts();
    // One that says how large it is need not come first.
    if rest.size_hint().lower() > bytes as u64 {
        return ApiError::TooLarge { limit: bytes }.into_response();
    }
    let reading = Bytes::from_request(Request::from_parts(parts.clone(), rest), &());
    let read = match timeout(limit, reading).await {
        Ok(bytes) => body(bytes, &server),
        Err(_) => Err(ApiError::SlowBody { limit }),
    };
    match read {
        Ok(bytes) => next.run(Request::from_parts(parts, Body::from(bytes))).await,
        Err(error) => error.into_response(),
    }
}

/// Work that is given up after some time, if there is a limit.
pub(crate) async fn timed<T>(
    limit: Option<Duration>,
    work: impl Future<Output = Result<T, ApiError>>,
) -> Result<T, ApiError> {
    match limit {
        None => work.await,
        Some(limit) => timeout(limit, work).await.unwrap_or(Err(ApiError::TookTooLong { limit })),
    }
}
