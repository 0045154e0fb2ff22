//! Load a model and generate.
