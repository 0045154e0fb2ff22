//! Passes from a graph to a program.
