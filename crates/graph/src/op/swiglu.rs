//! The operation `swiglu`.

use super::*;

/// `inputs: gate, up -> silu(gate) * up`, written as F32 or A32.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SwiGlu {
    /// F32, or A32 where fusion put the quantization in here.
    pub to: DType,
}

impl Operation for SwiGlu {
    fn facts(&self) -> OpFacts {
        let in_place = match self.to {
            DType::F32 => vec![InPlace { output: 0, input: 0 }, InPlace { output: 0, input: 1 }],
            _ => vec![],
        };
        OpFacts { label: "swiglu", in_place, ..OpFacts::default() }
    }

    fn infer(&self, inputs: &[Meta]) -> Result<Vec<Meta>, String> {
        expect_inputs(inputs, 2)?;
        expect_type(inputs, 0, DType::F32)?;
        expect_type(inputs, 1, DType::F32)?;
        expect_shape(inputs, 1, inputs[0].0)?;
        expect_row_type(self.to, columns(inputs, 0)?)?;
        Ok(vec![(inputs[0].0, self.to)])
    }
}
