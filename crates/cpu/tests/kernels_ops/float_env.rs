use cpu::float_env::FloatEnv;
#[cfg(target_arch = "x86_64")]
use cpu::pool::ThreadPool;

/// Half of the smallest normal number, computed when the program runs.
fn half_of_smallest() -> f32 {
    std::hint::black_box(f32::MIN_POSITIVE) * std::hint::black_box(0.5)
}

#[cfg(target_arch = "x86_64")]
mod flushed {
    use std::arch::asm;

    const FLUSH: u32 = 1 << 15;

    fn swap(word: u32) -> u32 {
        let mut old = 0u32;
        // SAFETY: stores to and loads from locals; the bits are ones that MXCSR has.
        unsafe {
            asm!("stmxcsr [{}]", in(reg) &mut old);
            asm!("ldmxcsr [{}]", in(reg) &word);
        }
        old
    }

    /// Calls `f` as a host program would that flushes denormals and rounds down.
    pub fn with_flushed(f: impl FnOnce()) {
        let old = swap(0x1f80 | FLUSH | 1 << 13);
        f();
        swap(old);
    }
}

#[cfg(target_arch = "x86_64")]
#[test]
fn modes_are_set_inside_and_put_back_outside() {
    let mut inside = 0.0;
    let mut between = 1.0;
    let mut pooled = 0.0;
    let pool = ThreadPool::new(2);
    flushed::with_flushed(|| {
        {
            let _env = FloatEnv::enter();
            inside = half_of_smallest();
        }
        between = half_of_smallest();
        let cell = std::sync::Mutex::new(0.0);
        pool.run(1, &|_, _| *cell.lock().unwrap() = half_of_smallest());
        pooled = cell.into_inner().unwrap();
    });
    assert!(inside > 0.0);
    assert_eq!(between, 0.0);
    assert!(pooled > 0.0);
    assert!(half_of_smallest() > 0.0);
}

#[test]
fn nested_guards_keep_the_modes() {
    let outer = FloatEnv::enter();
    drop(FloatEnv::enter());
    assert!(half_of_smallest() > 0.0);
    drop(outer);
}
