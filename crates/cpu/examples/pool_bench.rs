//! Times parallel regions of a few nanoseconds of work, for pools of several sizes.
//!
//! `cargo run --release -p cpu --example pool_bench`

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use cpu::pool::{ThreadPool, default_threads};

const REGIONS: usize = 20_000;

fn main() {
    println!("threads worth starting: {}", default_threads());
    if default_threads() > 1 {
        println!("two chunks that meet: {} ns (median)", meeting());
    }
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

/// Time of a region of two chunks, each of which waits until the other has begun.
fn meeting() -> u128 {
    let pool = ThreadPool::new(2);
    let begun = AtomicUsize::new(0);
    let mut times: Vec<u128> = (1..=2_001)
        .map(|region| {
            let start = Instant::now();
            pool.run(2, &|_, _| {
                begun.fetch_add(1, Ordering::Relaxed);
                while begun.load(Ordering::Relaxed) < 2 * region {
                    std::hint::spin_loop();
                }
            });
            start.elapsed().as_nanos()
        })
        .collect();
    times.sort_unstable();
    times[times.len() / 2]
}

/// A few microseconds of dependent arithmetic.
fn work(seed: usize) {
    let mut x = seed as f32;
    for _ in 0..1_000 {
        x = x * 0.5 + 1.0;
    }
    std::hint::black_box(x);
}
