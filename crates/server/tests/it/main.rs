//! The server over a real socket, as clients see it.

mod cors;
mod embeddings;
mod errors;
mod foreign;
mod life;
mod limits;
mod openapi;
mod outputs;
mod page;
mod requests;
mod responses;
mod seeds;
mod shapes;
mod soak;
mod streams;
mod structured;
mod support;
mod templates;
