//! The attention part of a layer: norm, Q, K and V, rotation, store, attention.

use graph::op::{Attention, KvStore, MatMul, RmsNorm, Rope, View};
use graph::{DType, Dim, Region, RegionId, Shape, ValueId};

use crate::decoder::{Kind, Parts, Shared};
use crate::{BodyParams, ModelError};

impl Parts<'_> {
    /// The cache is written before it is read.
    pub fn attention(
        &mut self,
        layer: usize,
        x: ValueId,
        shared: &Shared,
        params: &BodyParams,
    ) -> Result<ValueId, ModelError> {
        let window = self.config().window_of(layer);
        let kind = if window.is_some() { shared.window } else { shared.full };
        let (heads, heads_kv, head_dim) =
            (self.config().n_head, self.config().n_head_kv, self.config().head_dim);
        let block = |part: &str| format!("blk.{layer}.{part}");

        let normed = self.norm(&block("attn_norm"), x)?;
        let [q, k, v] = self.queries_keys_values(layer, normed)?;
        let q = self.turn(layer, "q", q, heads, kind)?;
        let k = self.turn(layer, "k", k, heads_kv, kind)?;

        let k_region = self.region(layer, "k", params.type_k, window);
        let v_region = self.region(layer, "v", params.type_v, window);
        let place = [shared.positions, shared.sequences, kind.page_tables];
        let placed = |x| [&[x][..], &place].concat();
        for (name, region, x) in [("store_k", k_region, k), ("store_v", v_region, v)] {
            let op =
                KvStore { region, heads: heads_kv, head_dim, context: params.n_ctx, rope: None, bias: false };
            self.builder.node(&block(name), op, &placed(x))?;
        }
        let op = Attention {
            k: k_region,
            v: v_region,
            heads,
            heads_kv,
            head_dim,
            scale: self.config().attention_scale,
            soft_cap: self.config().attention_soft_cap,
            window,
        };
        Ok(self.builder.one(&block("attention"), op, &placed(q))?)
    }

    fn queries_keys_values(&mut self, layer: usize, x: ValueId) -> Result<[ValueId; 3], ModelError> {
        let config = self.config();
        let (n_embd, bias) = (config.n_embd, config.qkv_bias);
        let widths = [config.n_embd_q(), config.n_embd_kv(), config.n_embd_kv()];
        let fused = config.fused_tensors;
        // What a file states may have any sum: too large a one is no tensor's.
        let all = widths.iter().fold(0usize, |sum, width| sum.saturating_add(*width));
        let mut first = 0;
        let mut out = [x; 3];
        for ((value, width), part) in out.iter_mut().zip(widths).zip(["attn_q", "attn_k", "attn_v"]) {
            let name = format!("blk.{layer}.{part}");
            *value = if fused {
                // All rows of Q, then all of K, then all of V.
                let tensor = format!("blk.{layer}.attn_qkv.weight");
                let weight = self.matrix_rows(&tensor, n_embd, all, first..first + width)?;
                first += width;
                self.builder.one(&name, MatMul, &[x, weight])?
            } else {
                self.linear(&name, x, n_embd, width, bias)?
            };
        }
        Ok(out)
    }

    /// Norms every head by itself, where the model does so, and turns it.
    fn turn(
        &mut self,
        layer: usize,
        part: &str,
        mut x: ValueId,
        heads: usize,
        kind: Kind,
    ) -> Result<ValueId, ModelError> {
        let (head_dim, rope) = (self.config().head_dim, self.config().rope.clone());
        let name = |what: &str| format!("blk.{layer}.{what}_{part}");
        if self.config().qk_norm {
            let eps = self.config().norm_eps;
            let weight = self.row(&format!("blk.{layer}.attn_{part}_norm.weight"), head_dim)?;
            let whole = self.builder.shape(x);
            let by_head = Shape([Dim::Fixed(head_dim), Dim::Fixed(heads), whole.0[1], Dim::Fixed(1)]);
            let view = |shape| View { shape, offset_bytes: 0 };
            x = self.builder.one(&name("heads"), view(by_head), &[x])?;
            x = self.builder.one(&name("normed"), RmsNorm { eps, to: DType::F32 }, &[x, weight])?;
            x = self.builder.one(&name("rows"), view(whole), &[x])?;
        }
        let op = Rope { heads, head_dim, rot: rope.rot, pairs: rope.pairs, bias: false };
        Ok(self.builder.one(&name("rope"), op, &[x, kind.rope_table])?)
    }

    fn region(&mut self, layer: usize, part: &str, dtype: DType, window: Option<usize>) -> RegionId {
        let (heads, head_dim) = (self.config().n_head_kv, self.config().head_dim);
        self.builder.region(Region {
            name: format!("kv.{layer}.{part}"),
            layer,
            dtype,
            heads,
            head_dim,
            window,
        })
    }
}
