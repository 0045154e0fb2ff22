//! The operation `gelu`.

use super::*;

/// `inputs: x -> gelu(x)` in its tanh form, written as F32 or A32.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Gelu {
    /// F32, or A32 where fusion put the quantization in here.
    pub to: DType,
}

impl Operation for Gelu {
    fn facts(&self) -> OpFacts {
        let in_place = match self.to {
            DType::F32 => vec![InPlace { output: 0, input: 0 }],
            _ => vec![],
        };
        OpFacts { label: "gelu", in_place, ..OpFacts::default() }
    }

    fn infer(&self, inputs: &[Meta]) -> Result<Vec<Meta>, String> {
        expect_inputs(inputs, 1)?;
        expect_type(inputs, 0, DType::F32)?;
        expect_row_type(self.to, columns(inputs, 0)?)?;
        Ok(vec![(inputs[0].0, self.to)])
    }
}
