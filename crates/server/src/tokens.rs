//! Text to tokens and back.

use std::sync::Arc;

use axum::Json as JsonBody;
use axum::body::Bytes;
use axum::extract::State;
use axum::extract::rejection::BytesRejection;
use minfer::EncodeOptions;
use serde_json::{Value as Json, json};

use crate::fields::{Fields, wrong};
use crate::generation::{blocking, body};
use crate::ignored::Ignored;
use crate::{ApiError, Server};

/// `POST /tokenize`: `content`, and whether the tokens that begin a prompt are added (`add_special`) and control tokens in
/// the text are taken for what they say (`parse_special`, as in raw prompts).
pub(crate) async fn tokenize(
    State(server): State<Arc<Server>>,
    bytes: Result<Bytes, BytesRejection>,
) -> Result<(Ignored, JsonBody<Json>), ApiError> {
    let bytes = body(bytes, &server)?;
    blocking(move || {
        let mut fields = Fields::of_body(&bytes)?;
        let missing = || ApiError::field("content", "is missing");
        let text = fields.text("content")?.ok_or_else(missing)?;
        let add_special = fields.flag("add_special")?.unwrap_or(false);
        let parse_special = fields.flag("parse_special")?.unwrap_or(true);
        fields.only("with_pieces", &false.into())?;
        let ignored = fields.done();
        let encoded =
            server.engine.model().tokenizer().encode(&text, EncodeOptions { add_special, parse_special });
        let tokens = encoded.map_err(|error| ApiError::of(error.into(), "content"))?;
        Ok((ignored, JsonBody(json!({"tokens": tokens}))))
    })
    .await
}

/// `POST /detokenize`: `tokens`. Bytes that are no text become U+FFFD.
pub(crate) async fn detokenize(
    State(server): State<Arc<Server>>,
    bytes: Result<Bytes, BytesRejection>,
) -> Result<(Ignored, JsonBody<Json>), ApiError> {
    let bytes = body(bytes, &server)?;
    blocking(move || {
        let mut fields = Fields::of_body(&bytes)?;
        let tokens = match fields.require("tokens")? {
            Json::Array(values) => ids(&values, "tokens", &server)?,
            other => return Err(wrong("tokens", "a list of tokens", &other)),
        };
        let content = server.engine.model().tokenizer().decode(&tokens, true);
        Ok((fields.done(), JsonBody(json!({"content": content}))))
    })
    .await
}

/// Tokens of the vocabulary.
pub(crate) fn ids(values: &[Json], field: &str, server: &Server) -> Result<Vec<u32>, ApiError> {
    let n_vocab = server.engine.model().config().n_vocab as u64;
    let expected = format!("a token, 0 to {}", n_vocab - 1);
    let one = |(index, value): (usize, &Json)| match value.as_u64() {
        Some(id) if id < n_vocab => Ok(id as u32),
        _ => Err(wrong(&format!("{field}[{index}]"), &expected, value)),
    };
    values.iter().enumerate().map(one).collect()
}
