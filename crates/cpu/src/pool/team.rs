//! The pool in the hands of one caller, who runs regions one after the other.

use std::panic::resume_unwind;
use std::sync::MutexGuard;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use super::ahead::Ahead;
use super::{ThreadPool, lock};
use crate::float_env::FloatEnv;

/// The threads of a pool, until it is dropped. Other callers of [`ThreadPool::enter`] wait that long.
///
/// The lock is taken once for many regions: a step of a model has hundreds.
pub struct Team<'a> {
    pool: &'a ThreadPool,
    /// A region runs. Nobody waits for this to change: it only refuses a region inside a region.
    running: AtomicBool,
    _turn: MutexGuard<'a, ()>,
}

impl<'a> Team<'a> {
    pub(super) fn new(pool: &'a ThreadPool) -> Team<'a> {
        let turn = lock(&pool.turn);
        Team { pool, running: AtomicBool::new(false), _turn: turn }
    }

    /// Worker indexes are below this number.
    pub fn threads(&self) -> usize {
        self.pool.threads
    }

    /// How many of the threads exist, the calling one included.
    pub(super) fn existing(&self) -> usize {
        self.pool.workers.len() + 1
    }

    pub(super) fn ahead(&self) -> &Ahead {
        &self.pool.shared.ahead
    }

    /// Calls `f(chunk, worker)` once for each chunk below `chunks`, and returns when all are done.
    ///
    /// Chunks are taken one after the other by whichever thread is free. `worker` is below
    /// [`Team::threads`] and differs between calls that overlap in time, so it can name a window
    /// of scratch. The floating-point modes are the default ones in every call.
    ///
    /// # Panics
    /// If `f` runs a region of the same team. If a call of `f` panics: the first panic is resumed here, once no
    /// call of `f` runs any more.
    pub fn run(&self, chunks: usize, f: &(dyn Fn(usize, usize) + Sync)) {
        let _running = Running::start(&self.running);
        let _modes = FloatEnv::enter();
        let pool = self.pool;
        if chunks <= 1 || pool.workers.is_empty() {
            for chunk in 0..chunks {
                f(chunk, 0);
            }
            return;
        }
        let chunks = u32::try_from(chunks).expect("a region has fewer than 2^32 chunks");
        pool.shared.publish(f, chunks);
        pool.wake(chunks as usize - 1);
        while pool.shared.claim_and_do(0) {}
        pool.shared.wait_until_done(chunks as usize);
        // The chunk that panicked said so before it was counted as done.
        if pool.shared.panicked.load(Relaxed)
            && let Some(panic) = pool.shared.take_panic()
        {
            resume_unwind(panic);
        }
    }
}

/// Marks that a region runs, until it is over in whatever way.
struct Running<'a>(&'a AtomicBool);

impl Running<'_> {
    fn start(running: &AtomicBool) -> Running<'_> {
        assert!(!running.swap(true, Acquire), "a region runs already");
        Running(running)
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.0.store(false, Release);
    }
}
