//! The operation `rope_table`.

use super::*;

/// How angles are stretched beyond the context that a model was trained for.
///
/// The angle of pair `j` at position `p` is `p * base^(-2j / rot) * stretch_j`, with `stretch_j` between `freq_scale`
/// (slow pairs) and 1 (fast pairs, as far as `ext_factor` allows): YaRN (Peng et al. 2023). With `ext_factor` 0 all pairs are
/// stretched alike: linear scaling.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct RopeScaling {
    /// Positions are multiplied by this: 1 over the factor of the stretch.
    pub freq_scale: f32,
    /// How far the fast pairs keep their own angles: 0 not at all, 1 all the way.
    pub ext_factor: f32,
    /// Pairs that turn more often than this within the original context are fast.
    pub beta_fast: f32,
    /// Pairs that turn less often than this are slow.
    pub beta_slow: f32,
    /// Positions that the model was trained for.
    pub n_ctx_orig: usize,
    /// Cosines and sines are multiplied by this.
    pub attn_factor: f32,
}

impl RopeScaling {
    /// Angles as they are.
    pub const NONE: RopeScaling = RopeScaling {
        freq_scale: 1.0,
        ext_factor: 0.0,
        beta_fast: 32.0,
        beta_slow: 1.0,
        n_ctx_orig: 0,
        attn_factor: 1.0,
    };
}

/// `inputs: positions [, factors] -> [rot, rows]` f32: `rot / 2` cosines, then as many sines, of the angles
/// `position * base^(-2j / rot) / factor_j`, stretched as `scaling` says. One a batch serves every layer of one base.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RopeTable {
    /// Elements of a head that turn.
    pub rot: usize,
    /// Base of the geometric series of frequencies.
    pub base: f32,
    /// The angle of pair `j` is divided by number `j` of input 1.
    pub factors: bool,
    /// Stretching.
    pub scaling: RopeScaling,
}

impl Operation for RopeTable {
    fn facts(&self) -> OpFacts {
        OpFacts { label: "rope_table", ..OpFacts::default() }
    }

    fn infer(&self, inputs: &[Meta]) -> Result<Vec<Meta>, String> {
        expect_inputs(inputs, 1 + usize::from(self.factors))?;
        expect_type(inputs, 0, DType::I32)?;
        if self.factors {
            expect_type(inputs, 1, DType::F32)?;
            expect_shape(inputs, 1, Shape::row(self.rot / 2))?;
        }
        Ok(vec![(Shape::matrix(self.rot, inputs[0].0.0[0]), DType::F32)])
    }
}
