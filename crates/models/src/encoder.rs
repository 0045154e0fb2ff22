//! The graphs of encoders: every token sees the whole text, which is one batch.
//!
//! Keys and values are needed only while their layer is computed, so all layers share one pair of regions, one after the
//! other; nothing is kept from batch to batch. The norm that ends the last layer is the head: it works row by row, and only on
//! the rows that are asked for.

use graph::op::{Add, Attention, Gelu, GetRows, KvStore, LayerNorm};
use graph::{Builder, DType, Graph, Region, RegionId, Shape, Symbol, ValueId};

use crate::decoder::{Parts, inputs};
use crate::{BodyParams, Model, ModelError, PAGE_POSITIONS};

/// Values that every layer reads.
struct Shared {
    positions: ValueId,
    last_positions: ValueId,
    sequences: ValueId,
    page_tables: ValueId,
    out_ids: ValueId,
    k: RegionId,
    v: RegionId,
}

pub(crate) fn body(model: &Model, params: &BodyParams) -> Result<Graph, ModelError> {
    let config = &model.config;
    if params.n_ctx > config.n_ctx_train {
        return Err(ModelError::Context { n_ctx: params.n_ctx, n_ctx_train: config.n_ctx_train });
    }
    let mut parts = Parts { model, builder: Builder::new() };
    let token_ids = parts.builder.input(inputs::TOKEN_IDS, Shape::row(Symbol::Tokens), DType::I32);
    let shared = parts.encoder_shared(params);
    let mut x = parts.encoder_embeddings(token_ids, shared.positions)?;
    for layer in 0..config.n_layer {
        parts.builder.set_layer(Some(layer));
        let is_last = layer + 1 == config.n_layer;
        let block = |part: &str| format!("blk.{layer}.{part}");
        let mut attended = parts.encoder_attention(layer, x, &shared, params)?;
        if is_last {
            // Behind the last attention only the rows that are asked for matter.
            let rows = &[attended, shared.out_ids];
            attended = parts.builder.one(&block("attended_outputs"), GetRows, rows)?;
            x = parts.builder.one(&block("residual_outputs"), GetRows, &[x, shared.out_ids])?;
        }
        let columns = config.n_embd_q();
        let projected = parts.linear(&block("attn_output"), attended, columns, config.n_embd, true)?;
        let sum = parts.builder.one(&block("attn_output.residual"), Add, &[x, projected])?;
        x = parts.layer_norm(&block("attn_output_norm"), sum)?;
        let up = parts.linear(&block("ffn_up"), x, config.n_embd, config.n_ff, true)?;
        let wide = parts.builder.one(&block("gelu"), Gelu { to: DType::F32 }, &[up])?;
        let down = parts.linear(&block("ffn_down"), wide, config.n_ff, config.n_embd, true)?;
        x = parts.builder.one(&block("ffn_down.residual"), Add, &[x, down])?;
        if !is_last {
            x = parts.layer_norm(&block("layer_output_norm"), x)?;
        }
    }
    parts.builder.output(x);
    Ok(parts.builder.finish())
}

/// From the last layer's sums to its rows.
pub(crate) fn head(model: &Model) -> Result<Graph, ModelError> {
    let config = &model.config;
    let mut parts = Parts { model, builder: Builder::new() };
    let shape = Shape::matrix(config.n_embd, Symbol::Outputs);
    let hidden = parts.builder.input(inputs::HIDDEN, shape, DType::F32);
    let normed = parts.layer_norm(&format!("blk.{}.layer_output_norm", config.n_layer - 1), hidden)?;
    parts.builder.output(normed);
    Ok(parts.builder.finish())
}

impl Parts<'_> {
    fn encoder_shared(&mut self, params: &BodyParams) -> Shared {
        let tokens = || Shape::row(Symbol::Tokens);
        let positions = self.builder.input(inputs::POSITIONS, tokens(), DType::I32);
        let last_positions = self.builder.input(inputs::LAST_POSITIONS, tokens(), DType::I32);
        let sequences = self.builder.input(inputs::SEQUENCES, tokens(), DType::I32);
        let tables = Shape::matrix(params.n_ctx.div_ceil(PAGE_POSITIONS), Symbol::Sequences);
        let page_tables = self.builder.input(inputs::PAGE_TABLES, tables, DType::I32);
        let out_ids = self.builder.input(inputs::OUT_IDS, Shape::row(Symbol::Outputs), DType::I32);
        let (heads, head_dim) = (self.config().n_head_kv, self.config().head_dim);
        let [k, v] = [("kv.k", params.type_k), ("kv.v", params.type_v)].map(|(name, dtype)| {
            let name = name.to_owned();
            self.builder.region(Region { name, layer: 0, dtype, heads, head_dim, window: None })
        });
        Shared { positions, last_positions, sequences, page_tables, out_ids, k, v }
    }

    /// Token, type of token and position, added and normed. All tokens are of the first type.
    fn encoder_embeddings(&mut self, token_ids: ValueId, positions: ValueId) -> Result<ValueId, ModelError> {
        let (n_embd, n_vocab, n_ctx) =
            (self.config().n_embd, self.config().n_vocab, self.config().n_ctx_train);
        let table = self.matrix("token_embd.weight", n_embd, n_vocab)?;
        let tokens = self.builder.one("embeddings", GetRows, &[table, token_ids])?;
        let types = self.first_row("token_types.weight", n_embd)?;
        let typed = self.builder.one("embeddings.typed", Add, &[tokens, types])?;
        let table = self.matrix("position_embd.weight", n_embd, n_ctx)?;
        let places = self.builder.one("embeddings.positions", GetRows, &[table, positions])?;
        let placed = self.builder.one("embeddings.placed", Add, &[typed, places])?;
        self.layer_norm("token_embd_norm", placed)
    }

    fn encoder_attention(
        &mut self,
        layer: usize,
        x: ValueId,
        shared: &Shared,
        params: &BodyParams,
    ) -> Result<ValueId, ModelError> {
        let config = self.config();
        let (heads, heads_kv, head_dim, n_embd) =
            (config.n_head, config.n_head_kv, config.head_dim, config.n_embd);
        let (scale, widths) = (config.attention_scale, [config.n_embd_q(), config.n_embd_kv()]);
        let block = |part: &str| format!("blk.{layer}.{part}");
        let q = self.linear(&block("attn_q"), x, n_embd, widths[0], true)?;
        let k = self.linear(&block("attn_k"), x, n_embd, widths[1], true)?;
        let v = self.linear(&block("attn_v"), x, n_embd, widths[1], true)?;
        let place = [shared.sequences, shared.page_tables];
        for (name, region, x) in [("store_k", shared.k, k), ("store_v", shared.v, v)] {
            let op =
                KvStore { region, heads: heads_kv, head_dim, context: params.n_ctx, rope: None, bias: false };
            self.builder.node(&block(name), op, &[&[x, shared.positions][..], &place].concat())?;
        }
        let op = Attention {
            k: shared.k,
            v: shared.v,
            heads,
            heads_kv,
            head_dim,
            scale,
            soft_cap: None,
            window: None,
        };
        let inputs = [&[q, shared.last_positions][..], &place].concat();
        Ok(self.builder.one(&block("attention"), op, &inputs)?)
    }

    /// The first row of a table, to be added to every row: never quantized.
    fn first_row(&mut self, name: &str, columns: usize) -> Result<ValueId, ModelError> {
        let rows = self.model.tensors.get(name).and_then(|meta| meta.dims.get(1).copied()).unwrap_or(1);
        let row = self.matrix_rows(name, columns, usize::try_from(rows).unwrap_or(usize::MAX), 0..1)?;
        self.refuse_other_than_f32(name)?;
        Ok(row)
    }

    fn layer_norm(&mut self, name: &str, x: ValueId) -> Result<ValueId, ModelError> {
        let n = self.config().n_embd;
        let (weight, bias) = (self.row(&format!("{name}.weight"), n)?, self.row(&format!("{name}.bias"), n)?);
        Ok(self.builder.one(name, LayerNorm { eps: self.config().norm_eps }, &[x, weight, bias])?)
    }
}
