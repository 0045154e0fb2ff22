//! Times parallel regions of a few nanoseconds of work, for pools of several sizes.
//!
//! `cargo run --release -p cpu --example pool_bench`

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use cpu::pool::{ThreadPool, default_threads};

const REGIONS: usize = 20_000;

fn main() {
    println!("threads worth starting: {}", default_threads());
    for threads in [1, 2, 3, 64] {
        let pool = ThreadPool::new(threads);
        let count = AtomicUsize::new(0);
        let start = Instant::now();
        for _ in 0..REGIONS {
            pool.run(threads, &|_, _| {
                count.fetch_add(1, Ordering::Relaxed);
            });
        }
        let each = start.elapsed().as_nanos() as f64 / REGIONS as f64;
        assert_eq!(count.load(Ordering::Relaxed), REGIONS * threads);

        let start = Instant::now();
        for _ in 0..200 {
            pool.run(64, &|chunk, _| work(chunk));
        }
        let worked = start.elapsed().as_secs_f64() / 200.0;

        let mut woken = 0.0;
        for _ in 0..100 {
            std::thread::sleep(Duration::from_millis(1));
            let start = Instant::now();
            pool.run(threads, &|_, _| ());
            woken += start.elapsed().as_secs_f64() / 100.0;
        }
        println!(
            "{threads} threads: {each:.0} ns a region of {threads} chunks, {:.1} us when they slept, \
             {:.1} us for 64 chunks of work",
            woken * 1e6,
            worked * 1e6
        );
    }
}

/// A few microseconds of dependent arithmetic.
fn work(seed: usize) {
    let mut x = seed as f32;
    for _ in 0..1_000 {
        x = x * 0.5 + 1.0;
    }
    std::hint::black_box(x);
}
