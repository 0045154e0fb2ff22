//! The operations `swiglu` and `geglu`.

use super::*;

/// What the gate goes through.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Activation {
    /// `x / (1 + exp(-x))`.
    Silu,
    /// GELU in its tanh form.
    Gelu,
}

/// `inputs: gate, up -> activation(gate) * up`, written as F32 or A32.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Glu {
    /// What the gate goes through.
    pub activation: Activation,
    /// F32, or A32 where fusion put the quantization in here.
    pub to: DType,
}

impl Operation for Glu {
    fn facts(&self) -> OpFacts {
        let label = match self.activation {
            Activation::Silu => "swiglu",
            Activation::Gelu => "geglu",
        };
        let in_place = match self.to {
            DType::F32 => vec![InPlace { output: 0, input: 0 }, InPlace { output: 0, input: 1 }],
            _ => vec![],
        };
        OpFacts { label, in_place, ..OpFacts::default() }
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
