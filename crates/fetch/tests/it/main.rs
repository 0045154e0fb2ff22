//! Downloads from a server on this machine that does what servers on the way do: cut, lie, change, redirect.

mod downloads;
mod hub;
mod redirects;
mod server;
mod support;
