//! Properties of the planner and of its checker.

mod common;
mod random;

mod lives;

mod in_place;

mod packing;
mod strategies;

mod errors;

mod budget;

mod checker;
mod mutations;
mod properties;

mod definition;
mod machine;

mod picture;
