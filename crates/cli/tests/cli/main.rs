//! The `minfer` command as people and programs use it: JSON, exit codes, messages, flags.

mod answers;
mod errors;
mod files;
mod flags;
mod json;
mod loading;
mod pull;
mod sampling;
mod support;
