//! What only the inside of the pool can show.

use std::panic::resume_unwind;

use super::*;

#[test]
fn more_threads_than_cores_do_every_chunk_once() {
    for workers in [1, 2, 6, 20] {
        let pool = ThreadPool::with_workers(workers + 1, workers);
        for region in 0..300 {
            let chunks = 1 + region % 50;
            let counts: Vec<AtomicUsize> = (0..chunks).map(|_| AtomicUsize::new(0)).collect();
            pool.run(chunks, &|chunk, _| {
                counts[chunk].fetch_add(1, Relaxed);
            });
            assert!(counts.iter().all(|c| c.load(Relaxed) == 1));
            pool.run_in_ranges(chunks, &|chunk, _| {
                counts[chunk].fetch_add(1, Relaxed);
            });
            assert!(counts.iter().all(|c| c.load(Relaxed) == 2));
        }
    }
}

#[test]
fn a_panic_on_another_thread_reaches_the_caller() {
    let pool = ThreadPool::with_workers(2, 1);
    let caught = catch_unwind(AssertUnwindSafe(|| {
        // The caller waits in its chunk until the other thread is in the other one.
        let arrived = AtomicUsize::new(0);
        pool.run(2, &|_, worker| {
            arrived.fetch_add(1, SeqCst);
            while arrived.load(SeqCst) < 2 {
                thread::yield_now();
            }
            if worker == 1 {
                resume_unwind(Box::new("worker 1"));
            }
        });
    }));
    assert_eq!(caught.unwrap_err().downcast_ref(), Some(&"worker 1"));
    pool.run(2, &|_, _| ());
}

#[test]
fn a_region_inside_a_region_is_refused_and_the_team_goes_on() {
    for workers in [0, 2] {
        let pool = ThreadPool::with_workers(workers + 1, workers);
        let team = pool.enter();
        assert!(catch_unwind(AssertUnwindSafe(|| team.run(4, &|_, _| team.run(1, &|_, _| ())))).is_err());
        let count = AtomicUsize::new(0);
        team.run(4, &|_, _| {
            count.fetch_add(1, Relaxed);
        });
        assert_eq!(count.into_inner(), 4);
    }
}
