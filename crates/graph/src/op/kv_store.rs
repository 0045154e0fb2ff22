//! The operation `kv_store`.

use super::Rope;
use super::*;

/// `inputs: x, positions, sequences, page_tables [, rope table] [, bias]`: stores the rows of the batch's
/// tokens into a cache region. Has no output; writes the region.
///
/// `x`: `[heads * head_dim, Tokens]` f32. Fusion may put the rotation and the bias before it in here:
/// `rope` then says how to rotate (its table follows the page tables), `bias` that a row to add comes last.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KvStore {
    /// Where the rows go.
    pub region: RegionId,
    /// KV heads.
    pub heads: usize,
    /// Elements in a head's row.
    pub head_dim: usize,
    /// Positions from here on are refused.
    pub context: usize,
    /// Rotate first.
    pub rope: Option<Rope>,
    /// Add a bias before all else.
    pub bias: bool,
}

impl Operation for KvStore {
    fn facts(&self) -> OpFacts {
        OpFacts { label: "kv_store", writes: vec![self.region], ..OpFacts::default() }
    }

    fn infer(&self, inputs: &[Meta]) -> Result<Vec<Meta>, String> {
        expect_inputs(inputs, 4 + usize::from(self.rope.is_some()) + usize::from(self.bias))?;
        expect_type(inputs, 0, DType::F32)?;
        for i in 1..4 {
            expect_type(inputs, i, DType::I32)?;
        }
        for i in 4..inputs.len() {
            expect_type(inputs, i, DType::F32)?;
        }
        let x = inputs[0].0;
        let n = columns(inputs, 0)?;
        if n != self.heads * self.head_dim {
            return Err(format!(
                "input 0: rows of {} heads of {} are not {n} long",
                self.heads, self.head_dim
            ));
        }
        expect_shape(inputs, 1, Shape::row(x.0[1]))?;
        expect_shape(inputs, 2, Shape::row(x.0[1]))?;
        if let Some(rope) = &self.rope {
            if (rope.heads, rope.head_dim, rope.bias) != (self.heads, self.head_dim, false) {
                return Err("the rotation inside is of other rows, or has a bias of its own".into());
            }
            expect_shape(inputs, 4, Shape::matrix(rope.rot, x.0[1]))?;
        }
        if self.bias {
            expect_shape(inputs, inputs.len() - 1, Shape::row(n))?;
        }
        Ok(vec![])
    }
}
