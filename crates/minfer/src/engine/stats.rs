//! What an engine is doing, in figures.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

/// What an engine does and has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Requests in the batches.
    pub running: usize,
    /// Requests in the queue.
    pub waiting: usize,
    /// Sequences kept for requests that begin alike.
    pub kept: usize,
    /// Bytes of KV pages that sequences refer to, the kept ones too.
    pub kv_bytes_committed: u64,
    /// Bytes that all KV pages would take.
    pub kv_bytes_reserved: u64,
    /// Tokens that were computed since the beginning: of prompts and of answers.
    pub computed_tokens: u64,
    /// Tokens of prompts that the cache had.
    pub cached_tokens: u64,
    /// Tokens of answers.
    pub generated_tokens: u64,
}

/// The same, written by the computing thread.
#[derive(Debug, Default)]
pub(super) struct Figures {
    running: AtomicU64,
    waiting: AtomicU64,
    kept: AtomicU64,
    committed: AtomicU64,
    reserved: AtomicU64,
    computed: AtomicU64,
    cached: AtomicU64,
    generated: AtomicU64,
}

impl Figures {
    pub fn computed_tokens(&self, count: usize) {
        self.computed.fetch_add(count as u64, Relaxed);
    }

    pub fn cached_tokens(&self, count: usize) {
        self.cached.fetch_add(count as u64, Relaxed);
    }

    pub fn generated_token(&self) {
        self.generated.fetch_add(1, Relaxed);
    }

    /// Counts a request that will wait; the number of those that do, if no more may.
    pub fn accept(&self, most: usize) -> Result<(), usize> {
        let one_more = |waiting| ((waiting as usize) < most).then_some(waiting + 1);
        self.waiting.fetch_update(Relaxed, Relaxed, one_more).map(drop).map_err(|waiting| waiting as usize)
    }

    /// A request waits no more.
    pub fn left_the_queue(&self) {
        self.waiting.fetch_sub(1, Relaxed);
    }

    pub fn state(&self, running: usize, kept: usize, committed: u64, reserved: u64) {
        self.running.store(running as u64, Relaxed);
        self.kept.store(kept as u64, Relaxed);
        self.committed.store(committed, Relaxed);
        self.reserved.store(reserved, Relaxed);
    }

    pub fn stats(&self) -> Stats {
        let get = |figure: &AtomicU64| figure.load(Relaxed);
        Stats {
            running: get(&self.running) as usize,
            waiting: get(&self.waiting) as usize,
            kept: get(&self.kept) as usize,
            kv_bytes_committed: get(&self.committed),
            kv_bytes_reserved: get(&self.reserved),
            computed_tokens: get(&self.computed),
            cached_tokens: get(&self.cached),
            generated_tokens: get(&self.generated),
        }
    }
}
