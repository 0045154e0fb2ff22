//! Seeded random models of the supported architectures.
