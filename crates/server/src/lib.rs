//! An HTTP server in OpenAI's form over [`minfer::Engine`].
//!
//! [`Server`] is an engine, or an embedder, or both, with what the outside may know of them; [`router()`] makes of it the routes, and [`serve()`] answers on a
//! socket until it is told to stop. What a field of a request asks for is done or refused with the name of the field; fields
//! that nobody knows are named in a header of the response.
//!
//! Nothing is printed and no environment is read. An answer is computed on the engine's thread and arrives through a channel;
//! a client that goes away takes its requests with it.

mod answer;
mod auth;
mod chat;
mod choice;
mod common;
mod completions;
mod cors;
mod embeddings;
mod engine;
mod error;
mod fields;
mod figures;
mod foreign;
mod generation;
mod ignored;
mod info;
mod limits;
mod logprobs;
mod messages;
mod openapi;
mod page;
mod prompt;
mod rate;
mod reply;
mod response_format;
mod responses;
mod router;
#[cfg(test)]
mod scripted;
mod serve;
mod server;
mod stream;
mod teller;
mod tokens;
mod tool_use;
mod unique;

pub use error::ApiError;
pub use router::router;
pub use serve::{Stop, serve};
pub use server::{Server, ServerOptions};
