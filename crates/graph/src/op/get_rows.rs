//! The operation `get_rows`.

use super::*;

/// `inputs: table, ids -> rows`: row `ids[i]` of the table, as f32 (or i32 for a table of i32).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GetRows;

impl Operation for GetRows {
    fn facts(&self) -> OpFacts {
        OpFacts { label: "get_rows", ..OpFacts::default() }
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
