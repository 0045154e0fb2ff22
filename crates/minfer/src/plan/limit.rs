//! A limit for a session's memory, and what would fit when the session does not.

use super::other::CODE;
use super::{Freedom, Plan, Proposal, human_bytes};
use crate::session::SessionOptions;
use crate::{Error, Model};

/// The most that a session may take when its context is full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryLimit {
    /// Bytes.
    pub bytes: u64,
    /// Whether the mapped file counts, and with it the mapped program.
    pub with_mapped: bool,
}

impl MemoryLimit {
    /// What of a plan counts.
    pub fn counted(&self, plan: &Plan) -> u64 {
        plan.total() + if self.with_mapped { plan.weights_mapped + CODE } else { 0 }
    }

    /// Whether a plan holds.
    pub fn holds(&self, plan: &Plan) -> bool {
        self.counted(plan) <= self.bytes
    }
}

/// A session that would take more than it may, and what would fit.
#[derive(Clone, Debug)]
pub struct OverLimit {
    /// What it would take.
    pub plan: Plan,
    /// What it may.
    pub limit: MemoryLimit,
    /// Settings that fit, the smallest change first; none if nothing does.
    pub would_fit: Vec<Proposal>,
}

impl std::fmt::Display for OverLimit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Plan { settings, other, .. } = &self.plan;
        let (needed, allowed) = (self.limit.counted(&self.plan), self.limit.bytes);
        writeln!(f, "memory: {} needed, {} allowed", human_bytes(needed), human_bytes(allowed))?;
        let (mapped, code) = if self.limit.with_mapped { (self.plan.weights_mapped, CODE) } else { (0, 0) };
        let kv = format!(
            "KV cache ({} x {} positions, {} and {})",
            settings.n_seq, settings.tokens, settings.type_k, settings.type_v
        );
        let terms = [
            ("mapped weights", mapped),
            ("mapped program", code),
            ("copied weights", self.plan.weights_copied),
            (&kv, self.plan.kv_committed),
            ("arenas", self.plan.arena_bytes()),
            ("rows of the head", self.plan.head),
            ("tokenizer, template, programs, threads", other.total()),
        ];
        for (term, bytes) in terms.into_iter().filter(|(_, bytes)| *bytes > 0) {
            writeln!(f, "  {:>9}  {term}", human_bytes(bytes))?;
        }
        if self.would_fit.is_empty() {
            return write!(f, "no context, batch or KV type makes it fit");
        }
        write!(f, "what would fit:")?;
        for proposal in &self.would_fit {
            write!(f, "\n  {:>9}  {proposal}", human_bytes(self.limit.counted(&proposal.plan)))?;
        }
        Ok(())
    }
}

impl Model {
    /// Says no to a session that would take more than its options allow once its context is full.
    pub(crate) fn check_limit(&self, options: &SessionOptions, threads: usize) -> Result<(), Error> {
        let Some(limit) = options.memory else { return Ok(()) };
        let plan = self.plan(options, threads, None)?;
        if limit.holds(&plan) {
            return Ok(());
        }
        let would_fit = self.would_fit(options, threads, limit, &Freedom::ALL)?;
        Err(Error::OverLimit(Box::new(OverLimit { plan, limit, would_fit })))
    }
}
