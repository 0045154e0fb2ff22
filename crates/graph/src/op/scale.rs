//! The operation `scale`.

use super::*;

/// `inputs: x -> x * factor`, f32.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Scale {
    /// What every element is multiplied by.
    pub factor: f32,
}

impl Operation for Scale {
    fn facts(&self) -> OpFacts {
        OpFacts { label: "scale", in_place: vec![InPlace { output: 0, input: 0 }], ..OpFacts::default() }
    }

    fn infer(&self, inputs: &[Meta]) -> Result<Vec<Meta>, String> {
        expect_inputs(inputs, 1)?;
        expect_type(inputs, 0, DType::F32)?;
        Ok(vec![inputs[0]])
    }
}
