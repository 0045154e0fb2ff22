//! Metadata to configuration to graph, one file an architecture.
