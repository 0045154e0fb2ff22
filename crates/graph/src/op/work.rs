//! What a run of an operation takes, for measurements.

use crate::Extents;

use super::Meta;

/// Bytes and operations of one run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Work {
    /// Bytes of inputs that are read and of outputs that are written; a region's come on top.
    pub bytes: u64,
    /// Multiplications and additions of products.
    pub operations: u64,
    /// Multiplications and additions for each position of a region that a token sees.
    pub operations_a_position: u64,
}

impl Work {
    /// Every input is read once and every output written once.
    pub(crate) fn of_operands(inputs: &[Meta], outputs: &[Meta], extents: &Extents) -> Work {
        let bytes = inputs.iter().chain(outputs).map(|(shape, dtype)| shape.bytes(*dtype, extents) as u64);
        Work { bytes: bytes.sum(), ..Work::default() }
    }

    /// The same with the operations of products of each token's row with the weights among the inputs, which are those from
    /// `weights` on.
    pub(crate) fn of_products(
        inputs: &[Meta],
        weights: std::ops::Range<usize>,
        outputs: &[Meta],
        extents: &Extents,
    ) -> Work {
        let elements = |(shape, _): &Meta| shape.evaluate(extents).iter().product::<usize>() as u64;
        let rows = inputs[0].0.rows(extents) as u64;
        let weights: u64 = inputs[weights].iter().map(elements).sum();
        Work { operations: 2 * rows * weights, ..Work::of_operands(inputs, outputs, extents) }
    }
}
