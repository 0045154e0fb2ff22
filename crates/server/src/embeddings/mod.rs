//! `POST /v1/embeddings`.

mod worker;

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::State;
use axum::extract::rejection::BytesRejection;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use minfer::Embedding;
use serde_json::Value as Json;

pub(crate) use worker::Embeddings;

use crate::fields::{Fields, wrong};
use crate::generation::{blocking, body};
use crate::ignored::Ignored;
use crate::limits::timed;
use crate::{ApiError, Server, common, tokens};

/// Texts of a request.
const TEXTS_MAX: usize = 2048;

/// A request that was read.
pub(crate) struct Asked {
    texts: Vec<Vec<u32>>,
    dimensions: Option<usize>,
    form: Encoding,
    pub ignored: Ignored,
}

/// How numbers are written.
#[derive(Clone, Copy)]
enum Encoding {
    Floats,
    /// The bytes of the floats, little end first.
    Base64,
}

pub(crate) async fn answer(
    State(server): State<Arc<Server>>,
    bytes: Result<Bytes, BytesRejection>,
) -> Result<Response, ApiError> {
    let bytes = body(bytes, &server)?;
    let embeddings = server.embeddings.as_ref().ok_or(ApiError::NoEmbeddings)?;
    let reading = server.clone();
    let n_ctx = embeddings.n_ctx;
    let Asked { texts, dimensions, form, ignored } = blocking(move || read(&bytes, &reading, n_ctx)).await?;
    let made = timed(server.options.time, embeddings.embed(texts, dimensions)).await?;
    let tokens = made.iter().map(|embedding| embedding.tokens).sum();
    server.figures.embedded(made.len(), tokens);
    let name = server.name().to_owned();
    let text = blocking(move || told(&made, tokens, form, &name)).await?;
    Ok((ignored, [(header::CONTENT_TYPE, "application/json")], text).into_response())
}

pub(crate) fn read(bytes: &[u8], server: &Server, n_ctx: usize) -> Result<Asked, ApiError> {
    let mut fields = Fields::of_body(bytes)?;
    common::model(&mut fields, server)?;
    let n_embd = server.engine.model().config().n_embd as i64;
    let dimensions = fields.count("dimensions", 1..=n_embd)?;
    let form = match fields.text("encoding_format")?.as_deref() {
        None | Some("float") => Encoding::Floats,
        Some("base64") => Encoding::Base64,
        Some(other) => {
            let message = format!("expected float or base64, found {other:?}");
            return Err(ApiError::field("encoding_format", message));
        }
    };
    let texts = inputs(fields.require("input")?, server)?;
    for (index, text) in texts.iter().enumerate() {
        let field = format!("input[{index}]");
        match text.len() {
            0 => return Err(ApiError::field(field, "is empty")),
            tokens if tokens > n_ctx => return Err(ApiError::TooLong { field, prompt: tokens, n_ctx }),
            _ => {}
        }
    }
    fields.only("embd_normalize", &2.into())?;
    fields.ignore(&["user"]);
    Ok(Asked { texts, dimensions, form, ignored: fields.done() })
}

/// A text, several, the tokens of one, or those of several. A text is text: no control token is read in it.
fn inputs(input: Json, server: &Server) -> Result<Vec<Vec<u32>>, ApiError> {
    const FIELD: &str = "input";
    let text = |text: &str, field: &str| {
        let tokens = server.engine.model().tokenize_text(text);
        tokens.map_err(|error| ApiError::field(field, error.to_string()))
    };
    let list = match input {
        Json::String(input) => return Ok(vec![text(&input, FIELD)?]),
        Json::Array(list) if list.is_empty() => return Err(ApiError::field(FIELD, "is empty")),
        Json::Array(list) => list,
        other => return Err(wrong(FIELD, "a string or a list", &other)),
    };
    if list[0].is_number() {
        return Ok(vec![tokens::ids(&list, FIELD, server)?]);
    }
    if list.len() > TEXTS_MAX {
        return Err(ApiError::field(FIELD, format!("{} texts, expected {TEXTS_MAX} at most", list.len())));
    }
    let one = |(index, item): (usize, &Json)| {
        let field = format!("{FIELD}[{index}]");
        match item {
            Json::String(input) => text(input, &field),
            Json::Array(ids) => tokens::ids(ids, &field, server),
            other => Err(wrong(&field, "a string or a list of tokens", other)),
        }
    };
    list.iter().enumerate().map(one).collect()
}

/// The body of the response. Written as text: as values, numbers would take ten times the room.
fn told(made: &[Embedding], tokens: usize, form: Encoding, model: &str) -> Result<String, ApiError> {
    let mut data = Vec::with_capacity(made.len());
    for (index, Embedding { values, .. }) in made.iter().enumerate() {
        if values.iter().any(|value| !value.is_finite()) {
            return Err(ApiError::Failed(format!("the embedding of text {index} holds what is no number")));
        }
        let values = match form {
            // With the digits of 64 bits, so that who reads them so gets the very numbers of base64.
            Encoding::Floats => {
                let values: Vec<f64> = values.iter().map(|value| f64::from(*value)).collect();
                serde_json::to_string(&values).expect("numbers are JSON")
            }
            Encoding::Base64 => {
                let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
                format!("\"{}\"", STANDARD.encode(bytes))
            }
        };
        data.push(format!(r#"{{"object":"embedding","index":{index},"embedding":{values}}}"#));
    }
    let (data, model) = (data.join(","), Json::from(model));
    let usage = format!(r#"{{"prompt_tokens":{tokens},"total_tokens":{tokens}}}"#);
    Ok(format!(r#"{{"object":"list","data":[{data}],"model":{model},"usage":{usage}}}"#))
}
