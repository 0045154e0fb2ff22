//! The operation `mat_mul_add`.

use super::*;

/// `inputs: x, weight, residual -> residual + weight . x`, f32: the product is added where the residual stream already
/// is, and never stored. Made by fusion.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MatMulAdd;

impl Operation for MatMulAdd {
    fn facts(&self) -> OpFacts {
        OpFacts {
            label: "mat_mul_add",
            in_place: vec![InPlace { output: 0, input: 2 }],
            ..OpFacts::default()
        }
    }

    fn work(&self, inputs: &[Meta], outputs: &[Meta], extents: &Extents) -> Work {
        Work::of_products(inputs, 1..2, outputs, extents)
    }

    fn infer(&self, inputs: &[Meta]) -> Result<Vec<Meta>, String> {
        expect_inputs(inputs, 3)?;
        let product = MatMul.infer(&inputs[..2])?[0];
        expect_type(inputs, 2, DType::F32)?;
        expect_shape(inputs, 2, product.0)?;
        Ok(vec![product])
    }
}
