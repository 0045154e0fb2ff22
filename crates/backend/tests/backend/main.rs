//! The devices that exist for tests keep their word.

mod deferred;
mod null;
mod spy;
