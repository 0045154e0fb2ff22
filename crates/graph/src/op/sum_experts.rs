//! The operation `sum_experts`.

use super::*;

/// `inputs: x, weights -> sum over k of x[:, k, t] * weights[k, t]`, expert after expert in the order of the
/// choice.
///
/// `x`: `[columns, used, Tokens]` f32; `weights`: `[used, Tokens]` f32.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SumExperts;

impl Operation for SumExperts {
    fn facts(&self) -> OpFacts {
        OpFacts { label: "sum_experts", ..OpFacts::default() }
    }

    fn infer(&self, inputs: &[Meta]) -> Result<Vec<Meta>, String> {
        expect_inputs(inputs, 2)?;
        expect_type(inputs, 0, DType::F32)?;
        expect_type(inputs, 1, DType::F32)?;
        let x = inputs[0].0;
        expect_shape(inputs, 1, Shape::matrix(x.0[1], x.0[2]))?;
        Ok(vec![(Shape::matrix(x.0[0], x.0[2]), DType::F32)])
    }
}
