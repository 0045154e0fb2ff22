//! The operation `quantize`.

use super::*;

/// `inputs: x -> x as A32`, row by row. Inserted by lowering.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Quantize;

impl Operation for Quantize {
    fn facts(&self) -> OpFacts {
        OpFacts { label: "quantize", ..OpFacts::default() }
    }

    fn infer(&self, inputs: &[Meta]) -> Result<Vec<Meta>, String> {
        expect_inputs(inputs, 1)?;
        expect_type(inputs, 0, DType::F32)?;
        expect_row_type(DType::A32, columns(inputs, 0)?)?;
        Ok(vec![(inputs[0].0, DType::A32)])
    }
}
