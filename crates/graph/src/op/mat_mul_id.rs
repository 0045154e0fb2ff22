//! The operation `mat_mul_id`.

use super::*;

/// `inputs: x, weight, ids -> y`: `y[:, k, t] = weight[:, :, ids[k, t]] . x`, where `x` is the row of token `t`, or of
/// choice `k` of token `t`.
///
/// `weight`: `[columns, rows, experts]`; `ids`: `[used, Tokens]` i32; `x`: `[columns, Tokens]` or
/// `[columns, used, Tokens]`; `y`: `[rows, used, Tokens]` f32. How many tokens an expert gets is data.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MatMulId;

impl Operation for MatMulId {
    fn facts(&self) -> OpFacts {
        OpFacts { label: "mat_mul_id", product: true, ..OpFacts::default() }
    }

    fn infer(&self, inputs: &[Meta]) -> Result<Vec<Meta>, String> {
        expect_inputs(inputs, 3)?;
        expect_type(inputs, 2, DType::I32)?;
        let (x, weight, ids) = (inputs[0].0, inputs[1].0, inputs[2].0);
        if columns(inputs, 1)? != columns(inputs, 0)? {
            return Err(format!("input 1: expected rows of {}, found {weight}", x.0[0]));
        }
        super::mat_mul::expect_product(inputs[0].1, inputs[1].1, 1)?;
        let one_row = Shape::matrix(x.0[0], ids.0[1]);
        let rows = Shape([x.0[0], ids.0[0], ids.0[1], Dim::Fixed(1)]);
        if x != one_row && x != rows {
            return Err(format!("input 0: expected shape {one_row} or {rows}, found {x}"));
        }
        Ok(vec![(Shape([weight.0[1], ids.0[0], ids.0[1], Dim::Fixed(1)]), DType::F32)])
    }
}
