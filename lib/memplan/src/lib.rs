//! Plans where values of known size and life live in memory.
