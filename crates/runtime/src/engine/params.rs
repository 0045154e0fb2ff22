//! How an engine runs, and what of it may change.

use backend::Fused;
use compile::Verify;
use graph::Extents;
use models::{BodyParams, Output};

use crate::RuntimeError;
use crate::program_cache::GraphKind;

/// How an engine runs. Only what cannot change a result may change while it lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Params {
    /// Context and KV types; fixed.
    pub body: BodyParams,
    /// What becomes of the rows that are asked for.
    pub output: Output,
    /// Sequences in a batch, and as many full contexts of cache; fixed.
    pub n_seq: usize,
    /// Contexts more that the cache has room for, for sequences that are kept while they are in no batch; fixed.
    pub n_kept: usize,
    /// Tokens in a batch.
    pub n_ubatch: usize,
    /// Rows of a batch that go on to the head. Who wants logits after every token wants as many as tokens: batches are
    /// cut so that no more are asked for.
    pub n_outputs: usize,
    /// Rows that the head computes at a time.
    pub head_rows: usize,
    /// Fusions in use.
    pub fusions: Fused,
    /// Whether runs check the plan of their memory.
    pub verify: Verify,
}

impl Params {
    /// The largest batch of a program of one of the model's graphs.
    pub fn capacity(&self, kind: GraphKind) -> Extents {
        match kind {
            GraphKind::Body => {
                Extents { tokens: self.n_ubatch, outputs: self.n_outputs, sequences: self.n_seq }
            }
            GraphKind::Head => Extents { tokens: self.head_rows, outputs: self.head_rows, sequences: 1 },
        }
    }
    /// Sizes of nothing are refused.
    pub(super) fn refuse_nothing(&self) -> Result<(), RuntimeError> {
        let sizes = [
            ("the context", self.body.n_ctx),
            ("the number of sequences", self.n_seq),
            ("the batch size", self.n_ubatch),
            ("the number of outputs", self.n_outputs),
            ("the number of head rows", self.head_rows),
        ];
        match sizes.into_iter().find(|(_, n)| *n == 0) {
            Some((what, _)) => Err(RuntimeError::Zero { what }),
            None => Ok(()),
        }
    }

    /// What the cache of an engine was made for cannot change. With sliding windows there is a largest batch.
    pub(super) fn refuse_another_cache(
        &self,
        old: &Params,
        n_ubatch_max: Option<usize>,
    ) -> Result<(), RuntimeError> {
        let changed = |what, exists: String, asked: String| match exists == asked {
            true => Ok(()),
            false => Err(RuntimeError::CacheChanged { what, exists, asked }),
        };
        changed("the context", old.body.n_ctx.to_string(), self.body.n_ctx.to_string())?;
        changed("the type of cached keys", old.body.type_k.to_string(), self.body.type_k.to_string())?;
        changed("the type of cached values", old.body.type_v.to_string(), self.body.type_v.to_string())?;
        changed("the number of sequences", old.n_seq.to_string(), self.n_seq.to_string())?;
        changed("the number of kept sequences", old.n_kept.to_string(), self.n_kept.to_string())?;
        match n_ubatch_max {
            Some(most) if self.n_ubatch > most => Err(RuntimeError::CacheChanged {
                what: "the batch",
                exists: format!("{most} tokens at most, with sliding windows"),
                asked: self.n_ubatch.to_string(),
            }),
            _ => Ok(()),
        }
    }
}
