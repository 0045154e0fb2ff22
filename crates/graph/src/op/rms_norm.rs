//! The operation `rms_norm`.

use super::*;

/// `inputs: x, weight -> x / sqrt(mean(x^2) + eps) * weight`, each row by itself, written as F32 or A32.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RmsNorm {
    /// Added to the mean of squares.
    pub eps: f32,
    /// F32, or A32 where fusion put the quantization in here.
    pub to: DType,
}

impl Operation for RmsNorm {
    fn facts(&self) -> OpFacts {
        // A row of A32 is shorter than the f32 row it comes from, so rows would overlap other rows.
        let in_place = match self.to {
            DType::F32 => vec![InPlace { output: 0, input: 0 }],
            _ => vec![],
        };
        OpFacts { label: "rms_norm", in_place, ..OpFacts::default() }
    }

    fn infer(&self, inputs: &[Meta]) -> Result<Vec<Meta>, String> {
        expect_inputs(inputs, 2)?;
        expect_type(inputs, 0, DType::F32)?;
        expect_type(inputs, 1, DType::F32)?;
        let n = columns(inputs, 0)?;
        expect_shape(inputs, 1, Shape::row(n))?;
        expect_row_type(self.to, n)?;
        Ok(vec![(inputs[0].0, self.to)])
    }
}
