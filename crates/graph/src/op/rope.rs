//! The operation `rope`.

use super::*;

/// Which two elements of a head turn together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum RopePairs {
    /// `(2j, 2j + 1)`.
    Neighbours,
    /// `(j, j + rot / 2)`.
    Halves,
}

/// `inputs: x, table [, bias] -> x rotated`: every head of every row turns by its row of the table.
///
/// `x`: `[heads * head_dim, rows]` f32; `table`: `[rot, rows]`, cosines then sines, from
/// [`RopeTable`]. With `bias`, a row is added before turning (made by fusion).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Rope {
    /// Heads in a row of `x`.
    pub heads: usize,
    /// Elements in a head.
    pub head_dim: usize,
    /// Elements of a head that turn; the rest pass unchanged.
    pub rot: usize,
    /// Which elements turn together.
    pub pairs: RopePairs,
    /// A bias comes last.
    pub bias: bool,
}

impl Operation for Rope {
    fn facts(&self) -> OpFacts {
        OpFacts { label: "rope", in_place: vec![InPlace { output: 0, input: 0 }], ..OpFacts::default() }
    }

    fn infer(&self, inputs: &[Meta]) -> Result<Vec<Meta>, String> {
        expect_inputs(inputs, 2 + usize::from(self.bias))?;
        for i in 0..inputs.len() {
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
        if self.rot > self.head_dim || !self.rot.is_multiple_of(2) {
            return Err(format!("cannot turn {} of {} elements", self.rot, self.head_dim));
        }
        expect_shape(inputs, 1, Shape::matrix(self.rot, x.0[1]))?;
        if self.bias {
            expect_shape(inputs, 2, Shape::row(n))?;
        }
        Ok(vec![(x, DType::F32)])
    }
}
