//! The operation `view`.

use super::*;

/// `inputs: x -> window into x`: the same bytes with another shape, or `x`'s elements from
/// `offset_bytes` on. Nothing is computed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct View {
    /// Shape of the window.
    pub shape: Shape,
    /// Where it begins in `x`; a multiple of the element size.
    pub offset_bytes: usize,
}

impl Operation for View {
    fn facts(&self) -> OpFacts {
        OpFacts { label: "view", view: true, ..OpFacts::default() }
    }

    fn infer(&self, inputs: &[Meta]) -> Result<Vec<Meta>, String> {
        expect_inputs(inputs, 1)?;
        let dtype = inputs[0].1;
        if !self.offset_bytes.is_multiple_of(dtype.block_bytes()) {
            return Err(format!("offset {} is inside an element of {dtype}", self.offset_bytes));
        }
        // Whether the window lies inside depends on the run's extents; the planner checks it at capacity.
        Ok(vec![(self.shape, dtype)])
    }
}
