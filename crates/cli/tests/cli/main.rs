//! The `minfer` command as people and programs use it: JSON, exit codes, messages, flags.

mod about;
mod answers;
mod errors;
mod files;
mod flags;
#[cfg(target_os = "linux")]
mod interrupt;
mod json;
mod loading;
mod pull;
mod sampling;
mod support;
