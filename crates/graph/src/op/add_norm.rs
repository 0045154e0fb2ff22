//! The operation `add_norm`.

use super::*;

/// `inputs: a, b, weight -> sum = a + b, norm of the sum`: two values, since the sum lives on as the
/// residual stream and its norm does not. The norm is written as F32 or A32. Made by fusion.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AddNorm {
    /// Added to the mean of squares.
    pub eps: f32,
    /// F32 or A32.
    pub to: DType,
}

impl Operation for AddNorm {
    fn facts(&self) -> OpFacts {
        OpFacts {
            label: "add_norm",
            in_place: vec![InPlace { output: 0, input: 0 }, InPlace { output: 0, input: 1 }],
            ..OpFacts::default()
        }
    }

    fn infer(&self, inputs: &[Meta]) -> Result<Vec<Meta>, String> {
        expect_inputs(inputs, 3)?;
        for i in 0..3 {
            expect_type(inputs, i, DType::F32)?;
        }
        let a = inputs[0].0;
        let n = columns(inputs, 0)?;
        expect_shape(inputs, 1, a)?;
        expect_shape(inputs, 2, Shape::row(n))?;
        expect_row_type(self.to, n)?;
        Ok(vec![(a, DType::F32), (a, self.to)])
    }
}
