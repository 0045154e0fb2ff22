//! A choice allocates nothing once there is room.
#![allow(unsafe_code)] // An allocator that counts.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use sample::{Sampler, Settings};

struct Counting;

thread_local! {
    static COUNT: Cell<usize> = const { Cell::new(0) };
}

// SAFETY: each call goes on to the system's allocator; the counter is a plain cell without destructor.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        COUNT.set(COUNT.get() + 1);
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[test]
fn a_choice_after_the_first_allocates_nothing() {
    let row = |shift: usize| -> Vec<f32> {
        (0..5000).map(|id| ((id * 7919 + shift * 31) % 5003) as f32 / 400.0).collect()
    };
    let rows = [row(0), row(1), vec![1.0; 5000], row(2)];
    let history: Vec<u32> = (0..300).map(|i| i % 40).collect();
    let all = Settings {
        temperature: 0.8,
        typical_p: 0.99,
        top_p: 0.95,
        min_p: 0.001,
        repeat_penalty: 1.1,
        dry_multiplier: 0.5,
        xtc_probability: 1.0,
        logit_bias: vec![(3, 1.0)],
        ..Settings::default()
    };
    for settings in [Settings { top_k: 4000, ..all.clone() }, Settings { top_k: 5, ..all.clone() }, all] {
        let mut sampler = Sampler::new(settings).unwrap();
        sampler.sample(&rows[0], &history, 0).unwrap();
        let before = COUNT.get();
        assert!(before > 0, "nothing is counted");
        for (position, row) in (1..).zip(&rows) {
            sampler.sample(row, &history, position).unwrap();
        }
        assert_eq!(COUNT.get(), before);
    }
}
