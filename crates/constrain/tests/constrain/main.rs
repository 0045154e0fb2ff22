//! What is enforced, what is refused, and that nothing panics or hangs.

mod common;
mod hostile;
mod matching;
mod patterns;
mod refused;
mod schemas;
