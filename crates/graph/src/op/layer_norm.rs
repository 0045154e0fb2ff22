//! The operation `layer_norm`.

use super::*;

/// `inputs: x, weight, bias -> (x - mean(x)) / sqrt(mean((x - mean(x))^2) + eps) * weight + bias`, each row by itself, f32.
///
/// Models that have it norm behind an addition, so that the norm is the residual stream itself: it is never quantized in
/// here, since f32 is needed in any case.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LayerNorm {
    /// Added to the mean of squares.
    pub eps: f32,
}

impl Operation for LayerNorm {
    fn facts(&self) -> OpFacts {
        OpFacts { label: "layer_norm", in_place: vec![InPlace { output: 0, input: 0 }], ..OpFacts::default() }
    }

    fn infer(&self, inputs: &[Meta]) -> Result<Vec<Meta>, String> {
        expect_inputs(inputs, 3)?;
        for i in 0..3 {
            expect_type(inputs, i, DType::F32)?;
        }
        let n = columns(inputs, 0)?;
        expect_shape(inputs, 1, Shape::row(n))?;
        expect_shape(inputs, 2, Shape::row(n))?;
        Ok(vec![(inputs[0].0, DType::F32)])
    }
}
