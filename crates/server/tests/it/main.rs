//! The server over a real socket, as clients see it.

mod cors;
mod embeddings;
mod errors;
mod foreign;
mod life;
mod limits;
mod openapi;
mod page;
mod responses;
mod shapes;
mod soak;
mod streams;
mod structured;
mod support;
