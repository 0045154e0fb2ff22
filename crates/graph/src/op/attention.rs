//! The operation `attention`.

use super::*;

/// `inputs: q, positions, sequences, page_tables -> out`: every query head of every token attends to the
/// keys of its own sequence at positions up to the one that `positions` names for it (all of them, or the last `window`),
/// read from the cache.
///
/// In a decoder that is the token's own position, so that it sees what came before it; in an encoder it is the last one of
/// its sequence, so that it sees the whole text, which must be in the cache by then.
///
/// `q` and `out`: `[heads * head_dim, rows]` f32; `positions` and `sequences`: `[rows]` i32;
/// `page_tables`: `[pages a sequence, Sequences]` i32.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Attention {
    /// Where the keys are kept.
    pub k: RegionId,
    /// Where the values are kept.
    pub v: RegionId,
    /// Query heads.
    pub heads: usize,
    /// KV heads; query head `j` reads KV head `j / (heads / heads_kv)`.
    pub heads_kv: usize,
    /// Elements in a head's row.
    pub head_dim: usize,
    /// Scores are multiplied by this.
    pub scale: f32,
    /// Scores then become `cap tanh(score / cap)`.
    pub soft_cap: Option<f32>,
    /// A query that sees up to position `p` sees the keys from `p - window + 1` on.
    pub window: Option<usize>,
}

impl Operation for Attention {
    fn facts(&self) -> OpFacts {
        OpFacts {
            label: "attention",
            in_place: vec![InPlace { output: 0, input: 0 }],
            reads: vec![self.k, self.v],
            ..OpFacts::default()
        }
    }

    /// A score and a weighted value for each position that a token sees.
    fn work(&self, inputs: &[Meta], outputs: &[Meta], extents: &Extents) -> Work {
        let operations_a_position = 4 * (self.heads * self.head_dim) as u64;
        Work { operations_a_position, ..Work::of_operands(inputs, outputs, extents) }
    }

    fn infer(&self, inputs: &[Meta]) -> Result<Vec<Meta>, String> {
        expect_inputs(inputs, 4)?;
        expect_type(inputs, 0, DType::F32)?;
        for i in 1..4 {
            expect_type(inputs, i, DType::I32)?;
        }
        let q = inputs[0].0;
        let n = columns(inputs, 0)?;
        if n != self.heads * self.head_dim {
            return Err(format!(
                "input 0: rows of {} heads of {} are not {n} long",
                self.heads, self.head_dim
            ));
        }
        if self.heads_kv == 0 || !self.heads.is_multiple_of(self.heads_kv) {
            return Err(format!("{} heads cannot share {} KV heads", self.heads, self.heads_kv));
        }
        expect_shape(inputs, 1, Shape::row(q.0[1]))?;
        expect_shape(inputs, 2, Shape::row(q.0[1]))?;
        Ok(vec![(q, DType::F32)])
    }
}
