//! The graphs that the decoder architectures share, driven by the configuration.

use graph::op::{Add, GetRows, MatMul, RmsNorm, RopeTable, Scale, SoftCap};
use graph::{Builder, DType, Graph, Shape, Symbol, ValueId};

use crate::{Config, Model, ModelError, Output, PAGE_POSITIONS, Rope, slice};

/// Names of the graphs' inputs.
pub mod inputs {
    /// `[Tokens]` i32: what to embed.
    pub const TOKEN_IDS: &str = "token_ids";
    /// `[Tokens]` i32: position of each token in its sequence.
    pub const POSITIONS: &str = "positions";
    /// `[Tokens]` i32: the last position of each token's sequence, up to which a token of an encoder sees.
    pub const LAST_POSITIONS: &str = "last_positions";
    /// `[Tokens]` i32: which row of the page tables belongs to each token.
    pub const SEQUENCES: &str = "sequences";
    /// `[pages of the context, Sequences]` i32: page of the cache by page of the sequence.
    pub const PAGE_TABLES: &str = "page_tables";
    /// The same for layers with a window, whose old pages are given back.
    pub const PAGE_TABLES_WINDOW: &str = "page_tables_window";
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
pub(crate) struct Parts<'a> {
    pub model: &'a Model,
    pub builder: Builder,
}

/// Where a kind of layer finds its cache and its rotation.
#[derive(Clone, Copy)]
pub(crate) struct Kind {
    pub page_tables: ValueId,
    pub rope_table: ValueId,
}

/// Values that every layer reads.
pub(crate) struct Shared {
    pub positions: ValueId,
    pub sequences: ValueId,
    pub out_ids: ValueId,
    pub full: Kind,
    pub window: Kind,
}

pub(crate) fn body(model: &Model, params: &BodyParams) -> Result<Graph, ModelError> {
    let config = &model.config;
    let mut parts = Parts { model, builder: Builder::new() };
    let token_ids = parts.builder.input(inputs::TOKEN_IDS, Shape::row(Symbol::Tokens), DType::I32);
    let shared = parts.shared(params)?;
    let embeddings = parts.matrix("token_embd.weight", config.n_embd, config.n_vocab)?;
    let mut x = parts.builder.one("embeddings", GetRows, &[embeddings, token_ids])?;
    if let Some(factor) = config.embedding_scale {
        x = parts.builder.one("embeddings.scaled", Scale { factor }, &[x])?;
    }
    for layer in 0..config.n_layer {
        parts.builder.set_layer(Some(layer));
        let mut attended = parts.attention(layer, x, &shared, params)?;
        if layer + 1 == config.n_layer {
            // Behind the last attention only the rows that go on to the head matter.
            let rows = |part| format!("blk.{layer}.{part}");
            attended = parts.builder.one(&rows("attended_outputs"), GetRows, &[attended, shared.out_ids])?;
            x = parts.builder.one(&rows("residual_outputs"), GetRows, &[x, shared.out_ids])?;
        }
        let (name, columns) = (format!("blk.{layer}.attn_output"), config.n_embd_q());
        let projected = parts.linear(&name, attended, columns, config.n_embd, false)?;
        x = parts.add(layer, "attn_output", "post_attention_norm", x, projected)?;
        x = parts.feed_forward(layer, x)?;
    }
    parts.builder.output(x);
    Ok(parts.builder.finish())
}

pub(crate) fn head(model: &Model, output: Output) -> Result<Graph, ModelError> {
    let config = &model.config;
    let mut parts = Parts { model, builder: Builder::new() };
    let shape = Shape::matrix(config.n_embd, Symbol::Outputs);
    let hidden = parts.builder.input(inputs::HIDDEN, shape, DType::F32);
    let normed = parts.norm("output_norm", hidden)?;
    if output == Output::Hidden {
        parts.builder.output(normed);
        return Ok(parts.builder.finish());
    }
    let matrix = if config.tied { "token_embd.weight" } else { "output.weight" };
    let output = parts.matrix(matrix, config.n_embd, config.n_vocab)?;
    let mut logits = parts.builder.one("logits", MatMul, &[normed, output])?;
    if let Some(cap) = config.final_soft_cap {
        logits = parts.builder.one("logits.capped", SoftCap { cap }, &[logits])?;
    }
    parts.builder.output(logits);
    Ok(parts.builder.finish())
}

impl Parts<'_> {
    pub fn config(&self) -> &Config {
        &self.model.config
    }

    /// Inputs and tables that all layers read; a model without windows has one kind of layer.
    fn shared(&mut self, params: &BodyParams) -> Result<Shared, ModelError> {
        let row = |symbol: Symbol| Shape::row(symbol);
        let positions = self.builder.input(inputs::POSITIONS, row(Symbol::Tokens), DType::I32);
        let sequences = self.builder.input(inputs::SEQUENCES, row(Symbol::Tokens), DType::I32);
        let tables = Shape::matrix(params.n_ctx.div_ceil(PAGE_POSITIONS), Symbol::Sequences);
        let page_tables = self.builder.input(inputs::PAGE_TABLES, tables, DType::I32);
        let out_ids = self.builder.input(inputs::OUT_IDS, row(Symbol::Outputs), DType::I32);
        let rope = self.config().rope.clone();
        let rope_table = self.rope_table("rope_table", &rope, positions, params)?;
        let full = Kind { page_tables, rope_table };
        let mut kind = full;
        if let Some(window) = self.config().window.clone() {
            kind.page_tables = self.builder.input(inputs::PAGE_TABLES_WINDOW, tables, DType::I32);
            if let Some(rope) = window.rope {
                kind.rope_table = self.rope_table("rope_table_window", &rope, positions, params)?;
            }
        }
        Ok(Shared { positions, sequences, out_ids, full, window: kind })
    }

    /// A `columns x rows` weight, checked against the file.
    pub fn matrix(&mut self, name: &str, columns: usize, rows: usize) -> Result<ValueId, ModelError> {
        let dtype = self.model.tensors.require(name, &[columns, rows])?;
        Ok(self.builder.weight(name, Shape::matrix(columns, rows), dtype))
    }

    /// Some rows of a `columns x rows` weight.
    pub fn matrix_rows(
        &mut self,
        name: &str,
        columns: usize,
        rows: usize,
        part: std::ops::Range<usize>,
    ) -> Result<ValueId, ModelError> {
        let dtype = self.model.tensors.require(name, &[columns, rows])?;
        let shape = Shape::matrix(columns, part.len());
        Ok(self.builder.weight(&slice::name(name, &part), shape, dtype))
    }

    /// A row of f32: norm weights, biases and factors are never quantized.
    pub fn row(&mut self, name: &str, n: usize) -> Result<ValueId, ModelError> {
        let dtype = self.model.tensors.require(name, &[n])?;
        self.refuse_other_than_f32(name)?;
        Ok(self.builder.weight(name, Shape::row(n), dtype))
    }

    /// Refuses a tensor whose rows are added or multiplied as they are.
    pub fn refuse_other_than_f32(&self, name: &str) -> Result<(), ModelError> {
        match self.model.tensors.get(name) {
            Some(meta) if meta.type_name != DType::F32.name() => Err(ModelError::TensorType {
                name: name.to_owned(),
                found: meta.type_name.to_owned(),
                supported: DType::F32.to_string(),
            }),
            _ => Ok(()),
        }
    }

    pub fn norm(&mut self, name: &str, x: ValueId) -> Result<ValueId, ModelError> {
        let weight = self.row(&format!("{name}.weight"), self.config().n_embd)?;
        let op = RmsNorm { eps: self.config().norm_eps, to: DType::F32 };
        Ok(self.builder.one(name, op, &[x, weight])?)
    }

    /// `name.weight . x [+ name.bias]`
    pub fn linear(
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

    /// The residual stream and what a part of the layer adds to it, normed first where the model does so.
    pub fn add(
        &mut self,
        layer: usize,
        part: &str,
        post_norm: &str,
        residual: ValueId,
        mut x: ValueId,
    ) -> Result<ValueId, ModelError> {
        if self.config().post_norms {
            x = self.norm(&format!("blk.{layer}.{post_norm}"), x)?;
        }
        Ok(self.builder.one(&format!("blk.{layer}.{part}.residual"), Add, &[residual, x])?)
    }

    fn rope_table(
        &mut self,
        name: &str,
        rope: &Rope,
        positions: ValueId,
        params: &BodyParams,
    ) -> Result<ValueId, ModelError> {
        let mut inputs = vec![positions];
        let factors = rope.factors.tensor(params.n_ctx);
        if let Some(tensor) = factors {
            inputs.push(self.row(tensor, rope.rot / 2)?);
        }
        let op =
            RopeTable { rot: rope.rot, base: rope.base, factors: factors.is_some(), scaling: rope.scaling };
        Ok(self.builder.one(name, op, &inputs)?)
    }
}
