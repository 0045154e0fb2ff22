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

    /// With more choices than experts, every expert's weight is read; with fewer, one for each choice.
    fn work(&self, inputs: &[Meta], outputs: &[Meta], extents: &Extents) -> Work {
        let (weight, choices) = (inputs[1], inputs[2].0.evaluate(extents).iter().product::<usize>() as u64);
        let [columns, rows, experts, _] = weight.0.evaluate(extents);
        let others = Work::of_operands(&[inputs[0], inputs[2]], outputs, extents);
        let expert_bytes = (weight.1.row_bytes(columns) * rows) as u64;
        Work {
            bytes: others.bytes + expert_bytes * choices.min(experts as u64),
            operations: 2 * choices * (columns * rows) as u64,
            ..others
        }
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
