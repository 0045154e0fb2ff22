//! The `minfer` command as people and programs use it: JSON, exit codes, messages, flags.

mod about;
mod answers;
mod cached;
mod chat;
mod clients;
mod constraints;
mod embed;
mod errors;
mod files;
mod flags;
mod gguf_tools;
mod hub;
#[cfg(target_os = "linux")]
mod interrupt;
mod json;
mod loading;
mod plan;
mod prompt_cache;
mod pull;
mod sampling;
mod serve;
#[path = "../../../fetch/tests/it/server.rs"]
mod server;
mod support;
