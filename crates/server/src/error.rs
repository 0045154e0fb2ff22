//! Why a request is not answered, and how that is told.

use std::time::Duration;

use axum::Json as JsonBody;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::json;

/// Why a request is not answered.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ApiError {
    /// The body is no JSON object.
    #[error("the body: {0}")]
    Body(String),
    /// A field is wrong, missing or not known.
    #[error("{field}: {message}")]
    Field {
        /// Its name, with those that it is in.
        field: String,
        /// What is wrong with it.
        message: String,
    },
    /// The prompt and the context do not go together.
    #[error("{field}: the text has {prompt} tokens, the context {n_ctx} positions")]
    TooLong {
        /// The field with the prompt.
        field: String,
        /// Tokens of the prompt.
        prompt: usize,
        /// Positions of the context.
        n_ctx: usize,
    },
    /// No key, or a wrong one.
    #[error("the request needs an API key that is known here: Authorization: Bearer KEY")]
    Key,
    /// Another model than there is.
    #[error("the model {asked:?} is not here, but {here:?} is")]
    NoModel {
        /// What was asked for.
        asked: String,
        /// What there is.
        here: String,
    },
    /// A model that writes no text was to.
    #[error("{arch} models make embeddings of texts and write none: ask /v1/embeddings")]
    EmbeddingsOnly {
        /// The model's architecture.
        arch: &'static str,
    },
    /// A server that makes no embeddings was to.
    #[error("this server makes no embeddings: start it with --embeddings")]
    NoEmbeddings,
    /// Another path than there is.
    #[error("no route {0}")]
    NoRoute(String),
    /// A route that takes another method.
    #[error("this route does not take {0}")]
    Method(String),
    /// A body larger than allowed.
    #[error("the body is larger than {limit} bytes")]
    TooLarge {
        /// Bytes allowed.
        limit: usize,
    },
    /// A body that did not come in time.
    #[error("the body was not here after {limit:?}, the most that this server waits for one")]
    SlowBody {
        /// The time that a body has.
        limit: Duration,
    },
    /// A response that was not complete in time.
    #[error("the response was not complete after {limit:?}, the most that this server takes for one")]
    TookTooLong {
        /// The time that a response has.
        limit: Duration,
    },
    /// A key that asks more often than it may.
    #[error("more than {per_minute} requests a minute: try again in {seconds} s")]
    TooOften {
        /// Requests allowed.
        per_minute: u32,
        /// Until the next may come.
        seconds: u64,
    },
    /// Too many requests wait.
    #[error("{waiting} requests wait already, as many as may: try again later")]
    Busy {
        /// Requests in the queue.
        waiting: usize,
    },
    /// The server is about to end.
    #[error("the server is stopping and takes no more requests")]
    Stopping,
    /// The run failed.
    #[error("{0}")]
    Failed(String),
}

impl ApiError {
    /// Of a field.
    pub(crate) fn field(field: impl Into<String>, message: impl Into<String>) -> ApiError {
        ApiError::Field { field: field.into(), message: message.into() }
    }

    /// Of what the library refused; `field` held the prompt.
    pub(crate) fn of(error: minfer::Error, field: &'static str) -> ApiError {
        use minfer::Error;
        match error {
            Error::PromptTooLong { prompt, n_ctx } => {
                ApiError::TooLong { field: field.to_owned(), prompt, n_ctx }
            }
            Error::QueueFull { waiting } => ApiError::Busy { waiting },
            Error::EngineStopped => ApiError::Stopping,
            Error::Sampling(error) => {
                let message = format!("is {}, expected {}", error.found, error.expected);
                ApiError::field(error.field, message)
            }
            Error::EmptyPrompt
            | Error::NoTemplate
            | Error::Template(_)
            | Error::Text(_)
            | Error::Constrain { .. }
            | Error::Runtime(minfer::RuntimeError::TokenOutOfRange { .. }) => {
                ApiError::field(field, error.to_string())
            }
            other => ApiError::Failed(other.to_string()),
        }
    }

    /// The status of the response.
    pub fn status(&self) -> StatusCode {
        match self {
            ApiError::Body(_)
            | ApiError::Field { .. }
            | ApiError::TooLong { .. }
            | ApiError::EmbeddingsOnly { .. }
            | ApiError::NoEmbeddings => StatusCode::BAD_REQUEST,
            ApiError::Key => StatusCode::UNAUTHORIZED,
            ApiError::NoModel { .. } | ApiError::NoRoute(_) => StatusCode::NOT_FOUND,
            ApiError::Method(_) => StatusCode::METHOD_NOT_ALLOWED,
            ApiError::TooLarge { .. } => StatusCode::PAYLOAD_TOO_LARGE,
            ApiError::SlowBody { .. } => StatusCode::REQUEST_TIMEOUT,
            ApiError::TookTooLong { .. } => StatusCode::GATEWAY_TIMEOUT,
            ApiError::TooOften { .. } => StatusCode::TOO_MANY_REQUESTS,
            ApiError::Busy { .. } | ApiError::Stopping => StatusCode::SERVICE_UNAVAILABLE,
            ApiError::Failed(_) => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }

    fn code(&self) -> Option<&'static str> {
        match self {
            ApiError::TooLong { .. } => Some("context_length_exceeded"),
            ApiError::Key => Some("invalid_api_key"),
            ApiError::NoModel { .. } => Some("model_not_found"),
            ApiError::EmbeddingsOnly { .. } => Some("embeddings_only"),
            ApiError::NoEmbeddings => Some("embeddings_off"),
            ApiError::SlowBody { .. } => Some("body_timeout"),
            ApiError::TookTooLong { .. } => Some("timeout"),
            ApiError::TooOften { .. } => Some("rate_limit_exceeded"),
            ApiError::Busy { .. } => Some("queue_full"),
            _ => None,
        }
    }

    fn param(&self) -> Option<&str> {
        match self {
            ApiError::Field { field, .. } => Some(field),
            ApiError::TooLong { field, .. } => Some(field),
            ApiError::NoModel { .. } | ApiError::EmbeddingsOnly { .. } => Some("model"),
            _ => None,
        }
    }

    /// The error in OpenAI's form.
    pub fn to_json(&self) -> serde_json::Value {
        let kind = match self.status() {
            StatusCode::UNAUTHORIZED => "authentication_error",
            StatusCode::TOO_MANY_REQUESTS => "requests",
            status if status.is_server_error() => "server_error",
            _ => "invalid_request_error",
        };
        json!({"error": {"message": self.to_string(), "type": kind, "param": self.param(), "code": self.code()}})
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let mut response = (self.status(), JsonBody(self.to_json())).into_response();
        let again = match self {
            ApiError::TooOften { seconds, .. } => Some(seconds),
            ApiError::Busy { .. } | ApiError::Stopping => Some(1),
            _ => None,
        };
        if let Some(seconds) = again {
            response.headers_mut().insert(header::RETRY_AFTER, seconds.into());
        }
        if self == ApiError::Key {
            response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response
    }
}
