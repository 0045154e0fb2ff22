//! Properties of sampling that a caller sees.

mod allocation;
mod distribution;
mod limits;
mod steps;
