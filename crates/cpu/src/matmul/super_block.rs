//! Stored weights in blocks of 256, in portable code: the numbers that a block holds.

mod iq4_xs;
mod q2_k;
mod q3_k;
mod q4_k;
mod q5_k;
mod q6_k;

pub(super) use iq4_xs::Iq4Xs;
pub(super) use q2_k::Q2K;
pub(super) use q3_k::Q3K;
pub(super) use q4_k::Q4K;
pub(super) use q5_k::Q5K;
pub(super) use q6_k::Q6K;

/// Elements in a super-block.
pub(super) const SUPER: usize = 256;

/// Elements that share a scale or a minimum, at the least.
pub(super) const SUB: usize = 16;

/// A block of 256 weights: element `k` is `q[k] * scale[k / 16] * d - min[k / 16] * dmin`.
pub(super) struct UnpackedSuper {
    pub q: [i8; SUPER],
    pub scale: [i16; SUPER / SUB],
    /// 0 in types without minima.
    pub min: [u8; SUPER / SUB],
    pub d: f32,
    /// 0 in types without minima.
    pub dmin: f32,
}

/// A type of weights in blocks of 256 of `BYTES` bytes.
pub(super) trait SuperBlock<const BYTES: usize> {
    /// Minima of 32 elements: none, one, or one for each half.
    const MINIMA: usize;

    fn unpack(bytes: &[u8; BYTES]) -> UnpackedSuper;
}
