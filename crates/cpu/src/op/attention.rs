//! `attention`.

mod ranges;

use backend::BackendError;
use graph::op::Attention;
use graph::{DType, Extents, Shape};

use super::Run;
use super::kv_store::{Places, region};
use crate::Isa;
use crate::attention::{self, Cache, PAGE};
use crate::memory::RegionMemory;

/// Tokens that share one conversion of keys and values.
const TOKENS_A_CHUNK: usize = 32;

pub(super) fn scratch_bytes(
    isa: Isa,
    op: &Attention,
    inputs: &[(Shape, DType)],
    capacity: &Extents,
) -> usize {
    let tokens = inputs[0].0.rows(capacity).min(TOKENS_A_CHUNK);
    attention::attention_scratch_bytes(isa, op.head_dim, op.heads / op.heads_kv, tokens)
}

pub(super) fn run(run: &Run, op: &Attention) -> Result<(), BackendError> {
    let (q, out) = (run.input(0), run.output(0));
    if q.count == 0 {
        return Ok(());
    }
    let places = Places::new(run, 1, usize::MAX / 2 / PAGE)?;
    let (k, v) = (region(run, op.k)?, region(run, op.v)?);
    places.check(run, k, op.window)?;
    places.check(run, v, op.window)?;
    let task = attention::Attention {
        heads: op.heads,
        heads_kv: op.heads_kv,
        head_dim: op.head_dim,
        scale: op.scale,
        q: q.floats(0),
        q_stride: q.columns,
        out: out.floats(0),
        out_stride: out.columns,
        positions: places.positions,
        sequences: places.sequences,
        page_tables: places.page_tables,
        table_stride: places.table_stride,
        k: cache(k),
        v: cache(v),
        window: op.window,
        soft_cap: op.soft_cap,
    };
    if q.count <= attention::FEW_TOKENS && run.pool.threads() > 1 {
        ranges::run(run, &task);
        return Ok(());
    }
    let blocks = q.count.div_ceil(TOKENS_A_CHUNK);
    run.pool.run(blocks * op.heads_kv, &|chunk, worker| {
        // The last tokens of a prompt see the most: they go first, so that no thread waits for them.
        let first = (blocks - 1 - chunk / op.heads_kv) * TOKENS_A_CHUNK;
        let tokens = first..q.count.min(first + TOKENS_A_CHUNK);
        // SAFETY: operands are as large as the task says; positions, sequences and pages were checked; the
        // store before this call wrote the visible cells; each head of a token is written by one thread,
        // and the scratch is the worker's own.
        unsafe { attention::attention(run.isa, &task, tokens, chunk % op.heads_kv, run.scratch(worker)) };
    });
    Ok(())
}

fn cache(region: &RegionMemory) -> Cache {
    Cache { dtype: region.region.dtype, base: region.memory.base(), page_bytes: region.page_bytes() }
}
