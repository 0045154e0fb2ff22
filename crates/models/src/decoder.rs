//! The block builder that the decoder architectures share.

use graph::op::{Add, Attention, GetRows, KvStore, MatMul, RmsNorm, Rope, RopeTable, SwiGlu};
use graph::{Builder, DType, Graph, Region, Shape, Symbol, ValueId};

use crate::{Config, Model, ModelError, PAGE_POSITIONS};

/// Names of the graphs' inputs.
pub mod inputs {
    /// `[Tokens]` i32: what to embed.
    pub const TOKEN_IDS: &str = "token_ids";
    /// `[Tokens]` i32: position of each token in its sequence.
    pub const POSITIONS: &str = "positions";
    /// `[Tokens]` i32: which row of the page tables belongs to each token.
    pub const SEQUENCES: &str = "sequences";
    /// `[pages of the context, Sequences]` i32: page of the cache by page of the sequence.
    pub const PAGE_TABLES: &str = "page_tables";
    /// `[Outputs]` i32: which tokens' rows go on to the head.
    pub const OUT_IDS: &str = "out_ids";
    /// `[n_embd, Outputs]` f32: the head's input.
    pub const HIDDEN: &str = "hidden";
}

/// What the body of a model is built for, beside its configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BodyParams {
    /// Positions of a sequence; stores past it are refused.
    pub n_ctx: usize,
    /// Type of the cached keys.
    pub type_k: DType,
    /// Type of the cached values.
    pub type_v: DType,
}

impl BodyParams {
    /// One type for keys and values.
    pub fn new(n_ctx: usize, kv_type: DType) -> BodyParams {
        BodyParams { n_ctx, type_k: kv_type, type_v: kv_type }
    }
}

/// Builder with the model's names and shapes at hand.
struct Parts<'a> {
    model: &'a Model,
    builder: Builder,
}

/// Values that every layer reads.
struct Shared {
    positions: ValueId,
    sequences: ValueId,
    page_tables: ValueId,
    out_ids: ValueId,
    rope_table: ValueId,
}

pub(crate) fn body(model: &Model, params: &BodyParams) -> Result<Graph, ModelError> {
    let config = &model.config;
    let mut parts = Parts { model, builder: Builder::new() };
    let row = |symbol: Symbol| Shape::row(symbol);
    let token_ids = parts.builder.input(inputs::TOKEN_IDS, row(Symbol::Tokens), DType::I32);
    let positions = parts.builder.input(inputs::POSITIONS, row(Symbol::Tokens), DType::I32);
    let sequences = parts.builder.input(inputs::SEQUENCES, row(Symbol::Tokens), DType::I32);
    let tables = Shape::matrix(params.n_ctx.div_ceil(PAGE_POSITIONS), Symbol::Sequences);
    let page_tables = parts.builder.input(inputs::PAGE_TABLES, tables, DType::I32);
    let out_ids = parts.builder.input(inputs::OUT_IDS, row(Symbol::Outputs), DType::I32);

    let embeddings = parts.matrix("token_embd.weight", config.n_embd, config.n_vocab)?;
    let mut x = parts.builder.one("embeddings", GetRows, &[embeddings, token_ids])?;
    let rope_table = parts.rope_table(positions)?;
    let shared = Shared { positions, sequences, page_tables, out_ids, rope_table };
    for layer in 0..config.n_layer {
        parts.builder.set_layer(Some(layer));
        let attended = parts.attention(layer, x, &shared, params)?;
        let last = layer + 1 == config.n_layer;
        let (attended, residual) =
            if last { parts.outputs_only(layer, attended, x, &shared)? } else { (attended, x) };
        x = parts.project_and_add(layer, "attn_output", attended, residual, config.n_embd_q())?;
        x = parts.feed_forward(layer, x)?;
    }
    parts.builder.output(x);
    Ok(parts.builder.finish())
}

pub(crate) fn head(model: &Model) -> Result<Graph, ModelError> {
    let config = &model.config;
    let mut parts = Parts { model, builder: Builder::new() };
    let shape = Shape::matrix(config.n_embd, Symbol::Outputs);
    let hidden = parts.builder.input(inputs::HIDDEN, shape, DType::F32);
    let normed = parts.norm("output_norm", hidden)?;
    let matrix = if config.tied { "token_embd.weight" } else { "output.weight" };
    let output = parts.matrix(matrix, config.n_embd, config.n_vocab)?;
    let logits = parts.builder.one("logits", MatMul, &[normed, output])?;
    parts.builder.output(logits);
    Ok(parts.builder.finish())
}

impl Parts<'_> {
    fn config(&self) -> &Config {
        &self.model.config
    }

    /// A `columns x rows` weight, checked against the file.
    fn matrix(&mut self, name: &str, columns: usize, rows: usize) -> Result<ValueId, ModelError> {
        let dtype = self.model.tensors.require(name, &[columns, rows])?;
        Ok(self.builder.weight(name, Shape::matrix(columns, rows), dtype))
    }

    /// A row of f32: norm weights, biases and factors are never quantized.
    fn row(&mut self, name: &str, n: usize) -> Result<ValueId, ModelError> {
        let dtype = self.model.tensors.require(name, &[n])?;
        if dtype != DType::F32 {
            return Err(ModelError::TensorType {
                name: name.to_owned(),
                found: dtype.to_string(),
                supported: DType::F32.to_string(),
            });
        }
        Ok(self.builder.weight(name, Shape::row(n), dtype))
    }

    fn norm(&mut self, name: &str, x: ValueId) -> Result<ValueId, ModelError> {
        let weight = self.row(&format!("{name}.weight"), self.config().n_embd)?;
        let op = RmsNorm { eps: self.config().norm_eps, to: DType::F32 };
        Ok(self.builder.one(name, op, &[x, weight])?)
    }

    /// `name.weight . x [+ name.bias]`
    fn linear(
        &mut self,
        name: &str,
        x: ValueId,
        columns: usize,
        rows: usize,
        bias: bool,
    ) -> Result<ValueId, ModelError> {
        let weight = self.matrix(&format!("{name}.weight"), columns, rows)?;
        let product = self.builder.one(name, MatMul, &[x, weight])?;
        if !bias {
            return Ok(product);
        }
        let bias = self.row(&format!("{name}.bias"), rows)?;
        Ok(self.builder.one(&format!("{name}.biased"), Add, &[product, bias])?)
    }

    fn rope_table(&mut self, positions: ValueId) -> Result<ValueId, ModelError> {
        let rope = self.config().rope.clone();
        let mut inputs = vec![positions];
        if rope.factors {
            inputs.push(self.row("rope_freqs.weight", rope.rot / 2)?);
        }
        let op = RopeTable { rot: rope.rot, base: rope.base, factors: rope.factors };
        Ok(self.builder.one("rope_table", op, &inputs)?)
    }

    fn rotate(
        &mut self,
        name: &str,
        x: ValueId,
        heads: usize,
        shared: &Shared,
    ) -> Result<ValueId, ModelError> {
        let (rope, head_dim) = (&self.config().rope, self.config().head_dim);
        let op = Rope { heads, head_dim, rot: rope.rot, pairs: rope.pairs, bias: false };
        Ok(self.builder.one(name, op, &[x, shared.rope_table])?)
    }

    /// Norm, Q, K and V, rotation, store, attention. The cache is written before it is read.
    fn attention(
        &mut self,
        layer: usize,
        x: ValueId,
        shared: &Shared,
        params: &BodyParams,
    ) -> Result<ValueId, ModelError> {
        let (heads, heads_kv, head_dim) =
            (self.config().n_head, self.config().n_head_kv, self.config().head_dim);
        let (n_embd, width_q, width_kv) =
            (self.config().n_embd, self.config().n_embd_q(), self.config().n_embd_kv());
        let bias = self.config().arch.qkv_bias;
        let block = |part: &str| format!("blk.{layer}.{part}");

        let normed = self.norm(&block("attn_norm"), x)?;
        let q = self.linear(&block("attn_q"), normed, n_embd, width_q, bias)?;
        let k = self.linear(&block("attn_k"), normed, n_embd, width_kv, bias)?;
        let v = self.linear(&block("attn_v"), normed, n_embd, width_kv, bias)?;
        let q = self.rotate(&block("rope_q"), q, heads, shared)?;
        let k = self.rotate(&block("rope_k"), k, heads_kv, shared)?;

        let region = |name: &str, dtype| Region {
            name: format!("kv.{layer}.{name}"),
            layer,
            dtype,
            heads: heads_kv,
            head_dim,
        };
        let k_region = self.builder.region(region("k", params.type_k));
        let v_region = self.builder.region(region("v", params.type_v));
        let store = |region| KvStore {
            region,
            heads: heads_kv,
            head_dim,
            context: params.n_ctx,
            rope: None,
            bias: false,
        };
        let place = [shared.positions, shared.sequences, shared.page_tables];
        let stored = |x| [&[x][..], &place].concat();
        self.builder.node(&block("store_k"), store(k_region), &stored(k))?;
        self.builder.node(&block("store_v"), store(v_region), &stored(v))?;
        // The scale is rounded once from f64, so that it is the same on every machine.
        let scale = (1.0 / (head_dim as f64).sqrt()) as f32;
        let op = Attention { k: k_region, v: v_region, heads, heads_kv, head_dim, scale };
        Ok(self.builder.one(&block("attention"), op, &stored(q))?)
    }

    /// Behind the last attention only the rows that go on to the head matter.
    fn outputs_only(
        &mut self,
        layer: usize,
        attended: ValueId,
        x: ValueId,
        shared: &Shared,
    ) -> Result<(ValueId, ValueId), ModelError> {
        let name = |part| format!("blk.{layer}.{part}");
        let attended = self.builder.one(&name("attended_outputs"), GetRows, &[attended, shared.out_ids])?;
        let residual = self.builder.one(&name("residual_outputs"), GetRows, &[x, shared.out_ids])?;
        Ok((attended, residual))
    }

    fn project_and_add(
        &mut self,
        layer: usize,
        part: &str,
        x: ValueId,
        residual: ValueId,
        columns: usize,
    ) -> Result<ValueId, ModelError> {
        let projected =
            self.linear(&format!("blk.{layer}.{part}"), x, columns, self.config().n_embd, false)?;
        Ok(self.builder.one(&format!("blk.{layer}.{part}.residual"), Add, &[residual, projected])?)
    }

    fn feed_forward(&mut self, layer: usize, x: ValueId) -> Result<ValueId, ModelError> {
        let (n_embd, n_ff) = (self.config().n_embd, self.config().n_ff);
        let block = |part: &str| format!("blk.{layer}.{part}");
        let normed = self.norm(&block("ffn_norm"), x)?;
        let gate = self.linear(&block("ffn_gate"), normed, n_embd, n_ff, false)?;
        let up = self.linear(&block("ffn_up"), normed, n_embd, n_ff, false)?;
        let wide = self.builder.one(&block("swiglu"), SwiGlu { to: DType::F32 }, &[gate, up])?;
        self.project_and_add(layer, "ffn_down", wide, x, n_ff)
    }
}
