//! The passes, on small graphs and on those of real models.
//!
//! The files in `golden` hold what each pass makes of a small model. After a change that is meant, run the
//! tests once with `MINFER_BLESS=1` in the environment, which writes the files anew, and read the difference.

mod common;

mod arenas;
mod assign;
mod fuse;
mod golden;
mod memory;
mod models;
mod random;
