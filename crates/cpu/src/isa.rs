//! Which instruction sets this CPU offers, found once; a caller may force one.

/// A tier of kernels. Every tier gives the same bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Isa {
    /// Portable Rust: the specification of every kernel.
    Scalar,
    /// AVX2 with FMA and F16C.
    Avx2,
}
