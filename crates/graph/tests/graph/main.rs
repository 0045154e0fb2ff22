//! The graph as data: its rules, its shapes, its editor and its dumps.

mod common;

mod dump;
mod edit;
mod random;
mod shapes;
mod validate;
