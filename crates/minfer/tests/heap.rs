//! What the plan calls other memory, against an allocator that counts.
#![allow(unsafe_code)] // An allocator is unsafe by nature.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use gguf::GgufFile;
use minfer::{Model, Session, SessionOptions, ThreadPool};

struct Counting;

static LIVE: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call goes to the system's allocator as it is; the count changes nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        LIVE.fetch_add(layout.size(), Relaxed);
        // SAFETY: the caller keeps the contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size(), Relaxed);
        // SAFETY: the caller keeps the contract.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[test]
fn other_memory_is_at_least_what_is_allocated_and_not_far_above() {
    for (arch, preset) in [("llama", "tiny"), ("qwen2", "tiny"), ("gemma3", "tiny"), ("qwen3moe", "tiny")] {
        let bytes = synthetic::build(arch, preset, "Q8_0", 1, None).unwrap();
        let before = LIVE.load(Relaxed);
        // The file's bytes are mapped, not on the heap.
        let model = Arc::new(Model::from_file(GgufFile::from_bytes(&bytes).unwrap()).unwrap());
        let options = SessionOptions { n_ctx: 512, ..SessionOptions::default() };
        let session = Session::new(model.clone(), Arc::new(ThreadPool::new(2)), &options).unwrap();
        let held = (LIVE.load(Relaxed) - before) as u64;
        let other = session.plan(512).unwrap().other;
        let counted = other.tokenizer + other.tables + other.programs;
        assert!(held <= counted, "{arch}: {held} bytes on the heap, {other:?}");
        assert!(counted < 2 * held + (256 << 10), "{arch}: {held} bytes on the heap, {other:?}");
    }
}
