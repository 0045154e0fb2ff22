//! The operation `soft_cap`.

use super::*;

/// `inputs: x -> cap tanh(x / cap)`, f32.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SoftCap {
    /// No result is larger than this.
    pub cap: f32,
}

impl Operation for SoftCap {
    fn facts(&self) -> OpFacts {
        OpFacts { label: "soft_cap", in_place: vec![InPlace { output: 0, input: 0 }], ..OpFacts::default() }
    }

    fn infer(&self, inputs: &[Meta]) -> Result<Vec<Meta>, String> {
        expect_inputs(inputs, 1)?;
        expect_type(inputs, 0, DType::F32)?;
        Ok(vec![inputs[0]])
    }
}
