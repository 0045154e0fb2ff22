//! The operation `add`.

use super::*;

/// `inputs: a, b -> a + b`, f32. `b` has the shape of `a`, or is one row (a bias) added to every row.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Add;

impl Operation for Add {
    fn facts(&self) -> OpFacts {
        // Only operands of the result's size can be overwritten; the planner checks sizes, so a bias
        // row is never taken.
        OpFacts {
            label: "add",
            in_place: vec![InPlace { output: 0, input: 0 }, InPlace { output: 0, input: 1 }],
            ..OpFacts::default()
        }
    }

    fn infer(&self, inputs: &[Meta]) -> Result<Vec<Meta>, String> {
        expect_inputs(inputs, 2)?;
        expect_type(inputs, 0, DType::F32)?;
        expect_type(inputs, 1, DType::F32)?;
        let (a, b) = (inputs[0].0, inputs[1].0);
        if a != b && b != Shape::row(a.0[0]) {
            return Err(format!("cannot add {b} to {a}"));
        }
        Ok(vec![(a, DType::F32)])
    }
}
