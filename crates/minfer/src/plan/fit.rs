//! Looks for settings that hold a limit: a smaller batch, a shorter context, a narrower cache.

use graph::DType;
use models::PAGE_POSITIONS;

use super::{MemoryLimit, Plan};
use crate::session::{KV_TYPES, SessionOptions};
use crate::{Error, Model};

/// Which settings may be changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Freedom {
    /// The size of a batch.
    pub ubatch: bool,
    /// The context, not below this many positions; `None` if it stays.
    pub ctx_from: Option<usize>,
    /// The KV types.
    pub kv_type: bool,
}

impl Freedom {
    /// All of them.
    pub const ALL: Freedom = Freedom { ubatch: true, ctx_from: Some(1), kv_type: true };
}

/// Settings that hold a limit.
#[derive(Clone, Debug)]
pub struct Proposal {
    /// The options of such a session.
    pub options: SessionOptions,
    /// What it takes with a full context.
    pub plan: Plan,
    /// What differs from what was asked for, as flags of the command line.
    pub changes: Vec<(&'static str, String)>,
}

impl std::fmt::Display for Proposal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let changes: Vec<String> =
            self.changes.iter().map(|(flag, value)| format!("--{flag} {value}")).collect();
        write!(f, "{}", changes.join(" "))
    }
}

/// Batches are tried down to this many tokens.
const UBATCH_MIN: usize = 32;

struct Search<'a> {
    model: &'a Model,
    asked: &'a SessionOptions,
    threads: usize,
    limit: MemoryLimit,
}

impl Model {
    /// Each single change of settings that makes a session hold the limit, as small a change as does it; where no single one
    /// does, the first combination that does. Empty if nothing does.
    pub fn would_fit(
        &self,
        options: &SessionOptions,
        threads: usize,
        limit: MemoryLimit,
        freedom: &Freedom,
    ) -> Result<Vec<Proposal>, Error> {
        let search = Search { model: self, asked: options, threads, limit };
        let mut found = Vec::new();
        if freedom.ubatch {
            found.extend(search.first(ubatches(options))?);
        }
        if let Some(from) = freedom.ctx_from {
            found.extend(search.context(options, from)?);
        }
        if freedom.kv_type {
            found.extend(search.first(narrower(options))?);
        }
        if found.is_empty() {
            found.extend(self.fit(options, threads, limit, freedom)?);
        }
        Ok(found)
    }

    /// The settings nearest to those asked for that hold the limit: first a smaller batch, then a shorter context, then a
    /// narrower cache with as much context as it allows. `None` if nothing does.
    pub fn fit(
        &self,
        options: &SessionOptions,
        threads: usize,
        limit: MemoryLimit,
        freedom: &Freedom,
    ) -> Result<Option<Proposal>, Error> {
        let search = Search { model: self, asked: options, threads, limit };
        let mut types = vec![*options];
        if freedom.kv_type {
            types.extend(narrower(options));
        }
        for typed in types {
            let mut smallest = typed;
            let mut batches = vec![typed];
            if freedom.ubatch {
                batches.extend(ubatches(&typed));
            }
            for batch in batches {
                if let Some(proposal) = search.holds(batch)? {
                    return Ok(Some(proposal));
                }
                smallest = batch;
            }
            if let Some(from) = freedom.ctx_from
                && let Some(proposal) = search.context(&smallest, from)?
            {
                return Ok(Some(proposal));
            }
        }
        Ok(None)
    }
}

/// Ever smaller batches.
fn ubatches(options: &SessionOptions) -> Vec<SessionOptions> {
    let halves = std::iter::successors(Some(options.n_ubatch / 2), |n| Some(n / 2));
    halves.take_while(|n| *n >= UBATCH_MIN).map(|n_ubatch| SessionOptions { n_ubatch, ..*options }).collect()
}

/// Types of the cache that take less than those asked for, the widest first.
fn narrower(options: &SessionOptions) -> Vec<SessionOptions> {
    let width = |t: DType| t.row_bytes(256);
    let asked = width(options.type_k) + width(options.type_v);
    let mut types: Vec<DType> = KV_TYPES.into_iter().filter(|t| 2 * width(*t) < asked).collect();
    types.sort_by_key(|t| std::cmp::Reverse(width(*t)));
    types.dedup_by_key(|t| width(*t));
    types.into_iter().map(|t| SessionOptions { type_k: t, type_v: t, ..*options }).collect()
}

impl Search<'_> {
    fn first(&self, options: Vec<SessionOptions>) -> Result<Option<Proposal>, Error> {
        for options in options {
            if let Some(proposal) = self.holds(options)? {
                return Ok(Some(proposal));
            }
        }
        Ok(None)
    }

    /// The longest context that holds, in whole pages. What a session takes grows with its context, so halving finds it.
    fn context(&self, options: &SessionOptions, from: usize) -> Result<Option<Proposal>, Error> {
        let with =
            |pages: usize| SessionOptions { n_ctx: (pages * PAGE_POSITIONS).min(options.n_ctx), ..*options };
        let (mut low, mut high) =
            (from.max(1).div_ceil(PAGE_POSITIONS), options.n_ctx.div_ceil(PAGE_POSITIONS));
        if low > high {
            return Ok(None);
        }
        let Some(mut best) = self.holds(with(low))? else { return Ok(None) };
        while low < high {
            let middle = low + (high - low).div_ceil(2);
            match self.holds(with(middle))? {
                Some(proposal) => (best, low) = (proposal, middle),
                None => high = middle - 1,
            }
        }
        Ok(Some(best))
    }

    fn holds(&self, options: SessionOptions) -> Result<Option<Proposal>, Error> {
        let plan = match self.model.plan(&options, self.threads, None) {
            // A type that does not fit the model's heads is no way out.
            Err(Error::CacheType { .. }) => return Ok(None),
            other => other?,
        };
        if !self.limit.holds(&plan) {
            return Ok(None);
        }
        let mut changes = Vec::new();
        if options.n_ctx != self.asked.n_ctx {
            changes.push(("ctx-size", options.n_ctx.to_string()));
        }
        if (options.type_k, options.type_v) != (self.asked.type_k, self.asked.type_v) {
            changes.push(("kv-type", options.type_k.name().to_lowercase()));
        }
        if options.n_ubatch != self.asked.n_ubatch {
            changes.push(("ubatch-size", options.n_ubatch.to_string()));
        }
        Ok(Some(Proposal { options, plan, changes }))
    }
}
