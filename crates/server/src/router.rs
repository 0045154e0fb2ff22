//! The routes.

use std::sync::Arc;

use axum::Router;
use axum::extract::{DefaultBodyLimit, Request, State};
use axum::http::{Method, Uri};
use axum::middleware::{self, Next};
use axum::response::Response;
use axum::routing::{get, post};

use crate::answer::{Read, respond};
use crate::{
    ApiError, Server, auth, chat, completions, cors, embeddings, info, limits, openapi, page, responses,
    tokens,
};

/// The routes of a server. `/`, the files of its page, `/health` and `/openapi.json` need no key.
pub fn router(server: Arc<Server>) -> Router {
    let answer = |read: Read| move |State(server): State<Arc<Server>>, bytes| respond(server, bytes, read);
    let guarded = Router::new()
        .route("/v1/chat/completions", post(answer(chat::read)))
        .route("/v1/completions", post(answer(completions::read)))
        .route("/v1/responses", post(answer(responses::read)))
        .route("/v1/embeddings", post(embeddings::answer))
        .route("/v1/models", get(info::models))
        .route("/v1/models/{*name}", get(info::model))
        .route("/tokenize", post(tokens::tokenize))
        .route("/detokenize", post(tokens::detokenize))
        .route("/metrics", get(info::metrics))
        .route("/props", get(info::props))
        .route_layer(middleware::from_fn_with_state(server.clone(), limits::read_body))
        .route_layer(middleware::from_fn_with_state(server.clone(), auth::check));
    Router::new()
        .route("/", get(page::root))
        .route("/page/{name}", get(page::file))
        .route("/health", get(info::health))
        .route("/openapi.json", get(openapi::document))
        .merge(guarded)
        .fallback(no_route)
        .method_not_allowed_fallback(other_method)
        .layer(DefaultBodyLimit::max(server.options.body_limit))
        .layer(middleware::from_fn_with_state(server.clone(), cors::allow))
        .layer(middleware::from_fn_with_state(server.clone(), count))
        .with_state(server)
}

async fn no_route(uri: Uri) -> ApiError {
    ApiError::NoRoute(uri.path().to_owned())
}

async fn other_method(method: Method) -> ApiError {
    ApiError::Method(method.to_string())
}

async fn count(State(server): State<Arc<Server>>, request: Request, next: Next) -> Response {
    let response = next.run(request).await;
    server.figures.responded(response.status().as_u16());
    response
}
