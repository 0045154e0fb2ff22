//! What the server tells of itself.

use std::sync::Arc;

use axum::Json as JsonBody;
use axum::extract::{Path, State};
use axum::http::header;
use axum::response::IntoResponse;
use serde_json::{Value as Json, json};

use crate::{ApiError, Server};

/// `GET /`, for programs.
pub(crate) async fn root() -> &'static str {
    "minfer answers here in the form of OpenAI's interface: POST /v1/chat/completions, POST /v1/completions, POST /v1/responses,\n\
     POST /v1/embeddings, GET /v1/models. Beside it: /health, /metrics, /props, /tokenize, /detokenize.\n\
     /openapi.json tells of all of it.\n"
}

/// `GET /health`: that the server answers, whatever the engine is at.
pub(crate) async fn health() -> JsonBody<Json> {
    JsonBody(json!({"status": "ok"}))
}

/// `GET /v1/models`.
pub(crate) async fn models(State(server): State<Arc<Server>>) -> JsonBody<Json> {
    JsonBody(json!({"object": "list", "data": [one(&server)]}))
}

/// `GET /v1/models/NAME`.
pub(crate) async fn model(
    State(server): State<Arc<Server>>,
    Path(asked): Path<String>,
) -> Result<JsonBody<Json>, ApiError> {
    match server.options.names.contains(&asked) {
        true => Ok(JsonBody(one(&server))),
        false => Err(ApiError::NoModel { asked, here: server.name().to_owned() }),
    }
}

fn one(server: &Server) -> Json {
    json!({"id": server.name(), "object": "model", "created": server.created, "owned_by": "minfer"})
}

/// `GET /metrics`.
pub(crate) async fn metrics(State(server): State<Arc<Server>>) -> impl IntoResponse {
    let text = server.figures.to_text(&server.engine.stats());
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], text)
}

/// `GET /props`.
pub(crate) async fn props(State(server): State<Arc<Server>>) -> JsonBody<Json> {
    let model = server.engine.model();
    JsonBody(json!({
        "model": server.name(),
        "names": server.options.names,
        "n_ctx": server.engine.n_ctx(),
        "n_ctx_train": model.config().n_ctx_train,
        "n_vocab": model.config().n_vocab,
        "parallel": server.options.parallel,
        "has_chat_template": model.has_template(),
        "embeddings": server.embeddings.as_ref().map(|it| it.pooling.name()),
    }))
}
