//! The feed-forward part of a layer: one gated network, or a few of many.

use graph::op::{Glu, MatMul, MatMulId, RouteExperts, SumExperts};
use graph::{DType, Dim, Shape, ValueId};

use crate::ModelError;
use crate::config::Experts;
use crate::decoder::Parts;

impl Parts<'_> {
    pub fn feed_forward(&mut self, layer: usize, x: ValueId) -> Result<ValueId, ModelError> {
        let normed = self.norm(&format!("blk.{layer}.ffn_norm"), x)?;
        let y = match self.config().experts {
            Some(experts) => self.experts(layer, normed, experts)?,
            None => self.dense(layer, normed)?,
        };
        self.add(layer, "ffn_down", "post_ffw_norm", x, y)
    }

    fn dense(&mut self, layer: usize, x: ValueId) -> Result<ValueId, ModelError> {
        let (n_embd, n_ff) = (self.config().n_embd, self.config().n_ff);
        let block = |part: &str| format!("blk.{layer}.{part}");
        let (gate, up) = if self.config().fused_tensors {
            // The first half are the rows of the gate.
            let tensor = block("ffn_up.weight");
            let gate = self.matrix_rows(&tensor, n_embd, 2 * n_ff, 0..n_ff)?;
            let up = self.matrix_rows(&tensor, n_embd, 2 * n_ff, n_ff..2 * n_ff)?;
            let gate = self.builder.one(&block("ffn_gate"), MatMul, &[x, gate])?;
            (gate, self.builder.one(&block("ffn_up"), MatMul, &[x, up])?)
        } else {
            let gate = self.linear(&block("ffn_gate"), x, n_embd, n_ff, false)?;
            (gate, self.linear(&block("ffn_up"), x, n_embd, n_ff, false)?)
        };
        let wide = self.glu(layer, gate, up)?;
        self.linear(&block("ffn_down"), wide, n_ff, n_embd, false)
    }

    fn glu(&mut self, layer: usize, gate: ValueId, up: ValueId) -> Result<ValueId, ModelError> {
        let op = Glu { activation: self.config().activation, to: DType::F32 };
        Ok(self.builder.one(&format!("blk.{layer}.glu"), op, &[gate, up])?)
    }

    /// The weight of an expert is applied to what it says, not to what it hears.
    fn experts(&mut self, layer: usize, x: ValueId, experts: Experts) -> Result<ValueId, ModelError> {
        let n_embd = self.config().n_embd;
        let block = |part: &str| format!("blk.{layer}.{part}");
        let logits = self.linear(&block("ffn_gate_inp"), x, n_embd, experts.count, false)?;
        let route = RouteExperts { used: experts.used };
        let routed = self.builder.node(&block("route"), route, &[logits])?;
        let (ids, weights) = (routed[0], routed[1]);
        let gate =
            self.expert_product(&block("ffn_gate_exps"), x, ids, [n_embd, experts.n_ff, experts.count])?;
        let up = self.expert_product(&block("ffn_up_exps"), x, ids, [n_embd, experts.n_ff, experts.count])?;
        let wide = self.glu(layer, gate, up)?;
        let down =
            self.expert_product(&block("ffn_down_exps"), wide, ids, [experts.n_ff, n_embd, experts.count])?;
        Ok(self.builder.one(&block("ffn_moe_out"), SumExperts, &[down, weights])?)
    }

    fn expert_product(
        &mut self,
        name: &str,
        x: ValueId,
        ids: ValueId,
        dims: [usize; 3],
    ) -> Result<ValueId, ModelError> {
        let tensor = format!("{name}.weight");
        let dtype = self.model.tensors.require(&tensor, &dims)?;
        let [columns, rows, count] = dims.map(Dim::Fixed);
        let weight = self.builder.weight(&tensor, Shape([columns, rows, count, Dim::Fixed(1)]), dtype);
        Ok(self.builder.one(name, MatMulId, &[x, weight, ids])?)
    }
}
