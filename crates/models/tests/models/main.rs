//! From a file's header to graphs, and what is wrong with a header that is no model.

mod common;

mod damage;
mod encoder;
mod graphs;
