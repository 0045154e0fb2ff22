//! One command that runs all checks.
fn main() {}
