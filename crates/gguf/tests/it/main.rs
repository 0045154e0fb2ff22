//! What the reader must accept, what it must refuse and how, and that written files read back.

mod bytes;
mod edit;
mod files;
mod lies;
mod metadata;
mod mutations;
mod round_trip;
