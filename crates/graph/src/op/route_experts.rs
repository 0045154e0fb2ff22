//! The operation `route_experts`.

use super::*;

/// `inputs: logits -> ids, weights`: of each token the `used` experts with the largest logits, best first (of
/// equal ones the lower number), and their probabilities divided by the sum of them.
///
/// `logits`: `[experts, rows]` f32; `ids`: `[used, rows]` i32; `weights`: `[used, rows]` f32.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RouteExperts {
    /// Experts that a token goes through.
    pub used: usize,
}

impl Operation for RouteExperts {
    fn facts(&self) -> OpFacts {
        OpFacts { label: "route_experts", ..OpFacts::default() }
    }

    fn infer(&self, inputs: &[Meta]) -> Result<Vec<Meta>, String> {
        expect_inputs(inputs, 1)?;
        expect_type(inputs, 0, DType::F32)?;
        let experts = columns(inputs, 0)?;
        if self.used == 0 || self.used > experts {
            return Err(format!("cannot choose {} of {experts} experts", self.used));
        }
        let chosen = Shape::matrix(self.used, inputs[0].0.0[1]);
        Ok(vec![(chosen, DType::I32), (chosen, DType::F32)])
    }
}
