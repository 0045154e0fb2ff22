use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use cpu::pool::ThreadPool;

#[test]
fn every_chunk_is_done_once() {
    for threads in [1, 2, 3, 7, 64] {
        let pool = ThreadPool::new(threads);
        assert_eq!(pool.threads(), threads);
        for region in 0..2_000 {
            let chunks = region % 41;
            let counts: Vec<AtomicUsize> = (0..chunks).map(|_| AtomicUsize::new(0)).collect();
            pool.run(chunks, &|chunk, worker| {
                assert!(worker < threads);
                counts[chunk].fetch_add(1, Ordering::Relaxed);
            });
            assert!(counts.iter().all(|c| c.load(Ordering::Relaxed) == 1));
            pool.run_in_ranges(chunks, &|chunk, worker| {
                assert!(worker < threads);
                counts[chunk].fetch_add(1, Ordering::Relaxed);
            });
            assert!(counts.iter().all(|c| c.load(Ordering::Relaxed) == 2));
        }
    }
}

#[test]
fn chunks_of_a_slow_thread_are_done_by_others() {
    let pool = ThreadPool::new(2);
    let others = AtomicUsize::new(0);
    pool.run_in_ranges(100, &|chunk, _| {
        // The thread of the first range waits in its first chunk until all the rest is done.
        if chunk > 0 {
            others.fetch_add(1, Ordering::Relaxed);
        }
        let alone = std::thread::available_parallelism().map_or(1, usize::from) == 1;
        while chunk == 0 && !alone && others.load(Ordering::Relaxed) < 99 {
            std::thread::yield_now();
        }
    });
    assert_eq!(others.load(Ordering::Relaxed), 99);
}

#[test]
fn worker_indexes_of_overlapping_calls_differ() {
    for threads in [2, 7] {
        let pool = ThreadPool::new(threads);
        let busy: Vec<AtomicBool> = (0..threads).map(|_| AtomicBool::new(false)).collect();
        for _ in 0..300 {
            pool.run(50, &|_, worker| {
                assert!(!busy[worker].swap(true, Ordering::Acquire));
                std::hint::spin_loop();
                busy[worker].store(false, Ordering::Release);
            });
        }
    }
}

#[test]
fn several_callers_take_turns() {
    let pool = ThreadPool::new(3);
    let running = AtomicUsize::new(0);
    let total = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for caller in 1..=3 {
            let (pool, running, total) = (&pool, &running, &total);
            scope.spawn(move || {
                for _ in 0..200 {
                    pool.run(8, &|_, _| {
                        // 8 chunks of one region at a time: the sum is made of one caller's number.
                        let sum = running.fetch_add(caller, Ordering::SeqCst);
                        assert_eq!(sum % caller, 0);
                        total.fetch_add(1, Ordering::Relaxed);
                        running.fetch_sub(caller, Ordering::SeqCst);
                    });
                }
            });
        }
    });
    assert_eq!(total.load(Ordering::Relaxed), 3 * 200 * 8);
}

#[test]
fn a_panic_reaches_the_caller_and_the_pool_stays_whole() {
    for threads in [1, 2, 7] {
        let pool = ThreadPool::new(threads);
        let done = AtomicUsize::new(0);
        let bad = 20;
        let caught = catch_unwind(AssertUnwindSafe(|| {
            pool.run(21, &|chunk, _| {
                if chunk == bad {
                    std::panic::resume_unwind(Box::new("chunk 20"));
                }
                done.fetch_add(1, Ordering::Relaxed);
            });
        }));
        assert_eq!(caught.unwrap_err().downcast_ref(), Some(&"chunk 20"));
        assert_eq!(done.load(Ordering::Relaxed), 20);
        let after = Mutex::new(Vec::new());
        pool.run(4, &|chunk, _| after.lock().unwrap().push(chunk));
        let mut after = after.into_inner().unwrap();
        after.sort_unstable();
        assert_eq!(after, [0, 1, 2, 3]);
    }
}

#[test]
fn threads_that_slept_take_part_again() {
    let pool = ThreadPool::new(2);
    for _ in 0..20 {
        std::thread::sleep(Duration::from_millis(1));
        let done = AtomicUsize::new(0);
        pool.run(2, &|_, _| {
            done.fetch_add(1, Ordering::Relaxed);
        });
        assert_eq!(done.load(Ordering::Relaxed), 2);
    }
}
