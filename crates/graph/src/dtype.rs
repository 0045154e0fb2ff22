//! Element types of values and weights: how many elements a block has and how many bytes it takes.

use serde::{Deserialize, Serialize};

/// Element type of a value or a weight that the engine computes with.
///
/// The names are GGUF's. [`DType::A32`] exists only between operations: it is the one format of
/// quantized activations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[allow(non_camel_case_types)]
pub enum DType {
    /// IEEE single precision.
    F32,
    /// IEEE half precision.
    F16,
    /// The upper half of an `F32`.
    BF16,
    /// 32-bit integers: token ids, positions, page tables.
    I32,
    /// Blocks of 32: f16 scale, 16 bytes of nibbles, offset 8.
    Q4_0,
    /// Blocks of 32: f16 scale, f16 minimum, 16 bytes of nibbles.
    Q4_1,
    /// Blocks of 32: f16 scale, 32 fifth bits, 16 bytes of nibbles, offset 16.
    Q5_0,
    /// Blocks of 32: f16 scale, f16 minimum, 32 fifth bits, 16 bytes of nibbles.
    Q5_1,
    /// Blocks of 32: f16 scale, 32 signed bytes.
    Q8_0,
    /// Blocks of 256 in sixteenths: a nibble as scale and one as minimum, 2-bit numbers, f16 scales of
    /// the scales and of the minima.
    Q2_K,
    /// Blocks of 256 in sixteenths: 3-bit numbers less 4, 6-bit scales less 32, f16 scale of all.
    Q3_K,
    /// Blocks of 256 in eighths: f16 scales of the scales and of the minima, both of 6 bits, nibbles.
    Q4_K,
    /// As [`DType::Q4_K`], with 5-bit numbers.
    Q5_K,
    /// Blocks of 256 in sixteenths: 6-bit numbers less 32, signed bytes as scales, f16 scale of all.
    Q6_K,
    /// Blocks of 32: f16 scale, 16 bytes of nibbles, each the index of one of 16 fixed numbers.
    IQ4_NL,
    /// Blocks of 256 in eighths: f16 scale of all, 6-bit scales less 32, nibbles as in [`DType::IQ4_NL`].
    IQ4_XS,
    /// Activations in blocks of 32 signed bytes with f32 scale, f32 scaled sum and the integer sums
    /// of the two halves. A row of `n = 32 b` elements is stored as four arrays one after the other,
    /// `q: i8[n]`, `d: f32[b]`, `s: f32[b]`, `sum: i16[2 b]`, padded to a multiple of 64 bytes.
    A32,
}

/// Rows of [`DType::A32`] start at multiples of this many bytes.
pub const A32_ROW_ALIGN: usize = 64;

impl DType {
    /// All types, in the order of their declaration.
    pub const ALL: [DType; 17] = [
        DType::F32,
        DType::F16,
        DType::BF16,
        DType::I32,
        DType::Q4_0,
        DType::Q4_1,
        DType::Q5_0,
        DType::Q5_1,
        DType::Q8_0,
        DType::Q2_K,
        DType::Q3_K,
        DType::Q4_K,
        DType::Q5_K,
        DType::Q6_K,
        DType::IQ4_NL,
        DType::IQ4_XS,
        DType::A32,
    ];

    /// Elements in a block; a row holds whole blocks.
    pub const fn block_elements(self) -> usize {
        match self {
            DType::F32 | DType::F16 | DType::BF16 | DType::I32 => 1,
            DType::Q4_0 | DType::Q4_1 | DType::Q5_0 | DType::Q5_1 | DType::Q8_0 => 32,
            DType::IQ4_NL | DType::A32 => 32,
            DType::Q2_K | DType::Q3_K | DType::Q4_K | DType::Q5_K | DType::Q6_K | DType::IQ4_XS => 256,
        }
    }

    /// Bytes of a block.
    pub const fn block_bytes(self) -> usize {
        match self {
            DType::F32 | DType::I32 => 4,
            DType::F16 | DType::BF16 => 2,
            DType::Q4_0 => 18,
            DType::Q4_1 => 20,
            DType::Q5_0 => 22,
            DType::Q5_1 => 24,
            DType::Q8_0 => 34,
            DType::Q2_K => 84,
            DType::Q3_K => 110,
            DType::Q4_K => 144,
            DType::Q5_K => 176,
            DType::Q6_K => 210,
            DType::IQ4_NL => 18,
            DType::IQ4_XS => 136,
            DType::A32 => 44,
        }
    }

    /// Bytes of a row of `elements`, a multiple of [`DType::block_elements`].
    pub const fn row_bytes(self, elements: usize) -> usize {
        assert!(elements.is_multiple_of(self.block_elements()));
        let bytes = elements / self.block_elements() * self.block_bytes();
        match self {
            DType::A32 => bytes.next_multiple_of(A32_ROW_ALIGN),
            _ => bytes,
        }
    }

    /// The name as GGUF writes it.
    pub const fn name(self) -> &'static str {
        match self {
            DType::F32 => "F32",
            DType::F16 => "F16",
            DType::BF16 => "BF16",
            DType::I32 => "I32",
            DType::Q4_0 => "Q4_0",
            DType::Q4_1 => "Q4_1",
            DType::Q5_0 => "Q5_0",
            DType::Q5_1 => "Q5_1",
            DType::Q8_0 => "Q8_0",
            DType::Q2_K => "Q2_K",
            DType::Q3_K => "Q3_K",
            DType::Q4_K => "Q4_K",
            DType::Q5_K => "Q5_K",
            DType::Q6_K => "Q6_K",
            DType::IQ4_NL => "IQ4_NL",
            DType::IQ4_XS => "IQ4_XS",
            DType::A32 => "A32",
        }
    }

    /// The type of that name, if the engine computes with it.
    pub fn from_name(name: &str) -> Option<DType> {
        DType::ALL.into_iter().find(|t| t.name() == name)
    }

    /// True for the types that weights may be of: all but those that exist only while a program runs.
    pub const fn is_weight(self) -> bool {
        !matches!(self, DType::I32 | DType::A32)
    }

    /// The types that weights may be of.
    pub fn weights() -> impl Iterator<Item = DType> {
        DType::ALL.into_iter().filter(|t| t.is_weight())
    }

    /// True for the types that are multiplied as integers, with activations in [`DType::A32`].
    pub const fn is_quantized(self) -> bool {
        self.block_elements() > 1
    }
}

impl std::fmt::Display for DType {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}
