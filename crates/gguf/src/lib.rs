//! Reads and writes GGUF files; trusts no number in them.
