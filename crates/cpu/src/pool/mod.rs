//! A persistent pool of threads that share the chunks of one region at a time.
//!
//! **Claiming.** One atomic word holds the number of chunks of the current region and the next chunk
//! that nobody has claimed. A thread claims by compare-and-swap of the whole word, so a claim always
//! belongs to the region that is current at that moment, even if the thread read the word long ago
//! and other regions have come and gone. A region ends only when all of its chunks are done;
//! a thread that holds none can be late, descheduled or asleep without anybody waiting for it.
//!
//! **The job.** [`Team::run`] writes the function into a slot, then publishes the word (release). A thread
//! reads the slot after its claim (acquire) and before it reports the chunk as done, and `run` writes
//! the slot again only after all chunks were reported: reads and writes never meet.
//!
//! **Sleeping.** A thread without work spins for a while, then marks itself as parked and looks at the
//! word once more before it parks; `run` publishes the word and then looks for marks. All four steps
//! are sequentially consistent, so at least one of the two sees the other.

mod ahead;
mod ranges;
mod team;
mod topology;

use std::any::Any;
use std::cell::UnsafeCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

pub use team::Team;
pub use topology::{Topology, default_threads};

use ahead::Ahead;

use crate::float_env::FloatEnv;

/// How long a thread looks for the next region before it sleeps. Regions of one step of a model
/// follow each other faster than this; waking a thread takes longer.
const SPIN_IDLE: Duration = Duration::from_micros(50);
/// How long `run` spins for the last chunks before it offers its core to other threads.
const SPIN_DONE: Duration = Duration::from_micros(20);
/// Looks at the word between two looks at the clock.
const SPINS_A_LOOK: usize = 32;

/// A function of (chunk, worker).
type Job = dyn Fn(usize, usize) + Sync;

/// Threads that wait for work. Dropping it ends them.
///
/// It belongs to whoever made it; several pools can live side by side.
pub struct ThreadPool {
    shared: Arc<Shared>,
    workers: Vec<JoinHandle<()>>,
    threads: usize,
    /// Held by a [`Team`]: the regions of one caller follow those of another.
    turn: Mutex<()>,
}

impl ThreadPool {
    /// A pool of `threads` threads, the calling one included: `threads - 1` are started, but no more
    /// than can run at once on the cores that this process may use, since more would only take time
    /// from each other.
    ///
    /// # Panics
    /// If `threads` is 0 or the system refuses to start a thread.
    pub fn new(threads: usize) -> ThreadPool {
        let parallel = thread::available_parallelism().map_or(1, usize::from);
        ThreadPool::with_workers(threads, threads.min(parallel).saturating_sub(1))
    }

    /// A pool that starts exactly `workers` threads.
    fn with_workers(threads: usize, workers: usize) -> ThreadPool {
        assert!(threads > 0);
        let shared = Arc::new(Shared::new(workers));
        let workers = (0..workers)
            .map(|worker| {
                let shared = shared.clone();
                thread::Builder::new()
                    .name(format!("minfer-{}", worker + 1))
                    .spawn(move || shared.work(worker))
                    .expect("the system can start a thread")
            })
            .collect();
        ThreadPool { shared, workers, threads, turn: Mutex::new(()) }
    }

    /// Worker indexes are below this number.
    pub fn threads(&self) -> usize {
        self.threads
    }

    /// Takes the pool for regions that follow each other. Whoever holds it keeps other callers waiting, and waits
    /// forever for itself if it enters again.
    pub fn enter(&self) -> Team<'_> {
        Team::new(self)
    }

    /// One region: [`Team::run`].
    pub fn run(&self, chunks: usize, f: &(dyn Fn(usize, usize) + Sync)) {
        self.enter().run(chunks, f);
    }

    /// One region: [`Team::run_in_ranges`].
    pub fn run_in_ranges(&self, chunks: usize, f: &(dyn Fn(usize, usize) + Sync)) {
        self.enter().run_in_ranges(chunks, f);
    }

    /// Wakes at most `most` threads that sleep.
    fn wake(&self, most: usize) {
        if self.shared.sleepers.0.load(SeqCst) == 0 {
            return;
        }
        let mut woken = 0;
        for (worker, thread) in self.workers.iter().enumerate() {
            if woken == most {
                break;
            }
            if self.shared.unmark_parked(worker) {
                thread.thread().unpark();
                woken += 1;
            }
        }
    }
}

impl Drop for ThreadPool {
    fn drop(&mut self) {
        self.shared.ending.store(true, SeqCst);
        self.wake(usize::MAX);
        for worker in self.workers.drain(..) {
            // A worker catches the panics of jobs; there is nothing to report about its own end.
            let _ = worker.join();
        }
    }
}

impl std::fmt::Debug for ThreadPool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ThreadPool")
            .field("threads", &self.threads)
            .field("started", &self.workers.len())
            .finish_non_exhaustive()
    }
}

/// A value on cache lines of its own (processors fetch them in pairs).
#[repr(align(128))]
struct Apart<T>(T);

struct Shared {
    /// Chunks of the region in the high half, the next one to claim in the low half.
    word: Apart<AtomicU64>,
    /// Chunks of the region that are done.
    done: Apart<AtomicUsize>,
    /// Threads that are parked or about to park.
    sleepers: Apart<AtomicUsize>,
    /// One mark a thread; whoever takes it away counts the sleeper off.
    parked: Vec<AtomicBool>,
    /// The function of the region; see the module's comment for who may touch it.
    job: UnsafeCell<Option<*const Job>>,
    /// The first panic of the region, and whether there is one: without it a region takes no lock.
    panic: Mutex<Option<Box<dyn Any + Send>>>,
    panicked: AtomicBool,
    /// The pool is being dropped.
    ending: AtomicBool,
    ahead: Ahead,
}

// SAFETY: `job` is written by `publish` before the word that allows the claims that read it, and only
// when no claim is open; the job itself is Sync. The other fields are Sync and Send.
unsafe impl Sync for Shared {}
// SAFETY: as above.
unsafe impl Send for Shared {}

impl Shared {
    fn new(workers: usize) -> Shared {
        Shared {
            word: Apart(AtomicU64::new(0)),
            done: Apart(AtomicUsize::new(0)),
            sleepers: Apart(AtomicUsize::new(0)),
            parked: (0..workers).map(|_| AtomicBool::new(false)).collect(),
            job: UnsafeCell::new(None),
            panic: Mutex::new(None),
            panicked: AtomicBool::new(false),
            ending: AtomicBool::new(false),
            ahead: Ahead::new(workers + 1),
        }
    }

    /// Makes a region current. The caller holds the pool's lock, and the region before is done.
    fn publish(&self, f: &(dyn Fn(usize, usize) + Sync), chunks: u32) {
        let job: *const (dyn Fn(usize, usize) + Sync + '_) = f;
        // SAFETY: only the lifetime changes. The pointer is used for claimed chunks, and `run` does not
        // return before all of them are done.
        let job =
            unsafe { std::mem::transmute::<*const (dyn Fn(usize, usize) + Sync + '_), *const Job>(job) };
        // SAFETY: no claim is open, so nobody reads the slot.
        unsafe { *self.job.get() = Some(job) };
        self.done.0.store(0, Relaxed);
        self.word.0.store(u64::from(chunks) << 32, SeqCst);
    }

    /// Claims the next chunk and does it; false if there is none.
    fn claim_and_do(&self, worker: usize) -> bool {
        let mut word = self.word.0.load(Acquire);
        let chunk = loop {
            if !has_work(word) {
                return false;
            }
            match self.word.0.compare_exchange_weak(word, word + 1, AcqRel, Acquire) {
                Ok(_) => break word as u32 as usize,
                Err(now) => word = now,
            }
        };
        // SAFETY: this thread holds a chunk, so the slot is not written and the job is alive.
        let job = unsafe { &*(*self.job.get()).expect("a region has a job") };
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| job(chunk, worker))) {
            lock(&self.panic).get_or_insert(panic);
            self.panicked.store(true, Relaxed);
        }
        self.done.0.fetch_add(1, Release);
        true
    }

    fn wait_until_done(&self, chunks: usize) {
        let done = || self.done.0.load(Acquire) == chunks;
        if !spin(SPIN_DONE, done) {
            while !done() {
                thread::yield_now();
            }
        }
    }

    fn take_panic(&self) -> Option<Box<dyn Any + Send>> {
        self.panicked.store(false, Relaxed);
        lock(&self.panic).take()
    }

    /// The life of a thread of the pool.
    fn work(&self, worker: usize) {
        let _env = FloatEnv::enter();
        let mut asked = 0;
        while !self.ending.load(Acquire) {
            while self.claim_and_do(worker + 1) {}
            let has_news = || self.has_news(Acquire);
            if !spin(SPIN_IDLE, || has_news() || self.ahead.is_new(asked)) {
                self.park(worker);
            } else if self.ahead.is_new(asked) {
                asked = self.ahead.ask(worker + 1, has_news);
            }
        }
    }

    fn has_news(&self, order: std::sync::atomic::Ordering) -> bool {
        has_work(self.word.0.load(order)) || self.ending.load(order)
    }

    fn park(&self, worker: usize) {
        self.sleepers.0.fetch_add(1, SeqCst);
        self.parked[worker].store(true, SeqCst);
        if self.has_news(SeqCst) {
            self.unmark_parked(worker);
            return;
        }
        while self.parked[worker].load(SeqCst) {
            thread::park();
        }
    }

    /// Takes a thread's mark away; true if it had one.
    fn unmark_parked(&self, worker: usize) -> bool {
        let marked = self.parked[worker].swap(false, SeqCst);
        if marked {
            self.sleepers.0.fetch_sub(1, SeqCst);
        }
        marked
    }
}

/// Whether a chunk is left to claim.
fn has_work(word: u64) -> bool {
    (word as u32) < (word >> 32) as u32
}

/// Spins until `ready`; false if it took longer than `time`.
fn spin(time: Duration, ready: impl Fn() -> bool) -> bool {
    let mut start = None;
    loop {
        for _ in 0..SPINS_A_LOOK {
            if ready() {
                return true;
            }
            std::hint::spin_loop();
        }
        if start.get_or_insert_with(Instant::now).elapsed() > time {
            return false;
        }
    }
}

/// Locks, whether or not a thread panicked with the lock: what it guards is whole at every moment.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
