//! The operation `mat_mul_glu`.

use super::*;

/// `inputs: x, gate weight, up weight -> activation(gate . x) * (up . x)`, written as F32 or A32: the two wide
/// products are never stored. Made by fusion.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MatMulGlu {
    /// What the gate goes through.
    pub activation: Activation,
    /// F32 or A32.
    pub to: DType,
}

impl Operation for MatMulGlu {
    fn facts(&self) -> OpFacts {
        let label = match self.activation {
            Activation::Silu => "mat_mul_swiglu",
            Activation::Gelu => "mat_mul_geglu",
        };
        OpFacts { label, ..OpFacts::default() }
    }

    fn work(&self, inputs: &[Meta], outputs: &[Meta], extents: &Extents) -> Work {
        Work::of_products(inputs, 1..3, outputs, extents)
    }

    fn infer(&self, inputs: &[Meta]) -> Result<Vec<Meta>, String> {
        expect_inputs(inputs, 3)?;
        let products = MatMul.infer(inputs)?;
        if products[0] != products[1] {
            return Err(format!("gate is {}, up is {}", products[0].0, products[1].0));
        }
        let shape = products[0].0;
        let n = shape.columns().ok_or("the number of rows is not fixed")?;
        expect_row_type(self.to, n)?;
        Ok(vec![(shape, self.to)])
    }
}
