//! The operation `rope_table`.

use super::*;

/// `inputs: positions [, factors] -> [rot, rows]` f32: `rot / 2` cosines, then as many sines, of the angles
/// `position * base^(-2j / rot) / factor_j`. One a batch serves every layer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RopeTable {
    /// Elements of a head that turn.
    pub rot: usize,
    /// Base of the geometric series of frequencies.
    pub base: f32,
    /// The angle of pair `j` is divided by number `j` of input 1.
    pub factors: bool,
}

impl Operation for RopeTable {
    fn facts(&self) -> OpFacts {
        OpFacts { label: "rope_table", ..OpFacts::default() }
    }

    fn infer(&self, inputs: &[Meta]) -> Result<Vec<Meta>, String> {
        expect_inputs(inputs, 1 + usize::from(self.factors))?;
        expect_type(inputs, 0, DType::I32)?;
        if self.factors {
            expect_type(inputs, 1, DType::F32)?;
            expect_shape(inputs, 1, Shape::row(self.rot / 2))?;
        }
        Ok(vec![(Shape::matrix(self.rot, inputs[0].0.0[0]), DType::F32)])
    }
}
