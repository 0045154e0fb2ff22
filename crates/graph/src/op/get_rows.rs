//! The operation `get_rows`.

use super::*;

/// `inputs: table, ids -> rows`: row `ids[i]` of the table, as f32 (or i32 for a table of i32).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GetRows;

impl Operation for GetRows {
    fn facts(&self) -> OpFacts {
        OpFacts { label: "get_rows", ..OpFacts::default() }
    }

    /// Only the rows that are asked for are read.
    fn work(&self, inputs: &[Meta], outputs: &[Meta], extents: &Extents) -> Work {
        let rows = outputs[0].0.rows(extents) as u64;
        let row_bytes = inputs[0].1.row_bytes(inputs[0].0.evaluate(extents)[0]) as u64;
        let others = Work::of_operands(&inputs[1..], outputs, extents);
        Work { bytes: others.bytes + rows * row_bytes, ..others }
    }

    fn infer(&self, inputs: &[Meta]) -> Result<Vec<Meta>, String> {
        expect_inputs(inputs, 2)?;
        expect_type(inputs, 1, DType::I32)?;
        let to = match inputs[0].1 {
            DType::A32 => return Err("input 0: rows of A32 cannot be gathered".into()),
            DType::I32 => DType::I32,
            _ => DType::F32,
        };
        Ok(vec![(Shape::matrix(columns(inputs, 0)?, inputs[1].0.0[0]), to)])
    }
}
