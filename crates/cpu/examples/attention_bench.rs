//! Times attention on one core: a prompt of 512 tokens in blocks of 32, and one token at 2,048
//! positions, with the heads of a model of 135 million weights.
//!
//! `cargo run --release -p cpu --example attention_bench`, with `prompt` or `token` for one of them.
#![allow(unsafe_code)] // The kernels work on pointers into shared arenas.

use std::time::Instant;

use cpu::attention::{Attention, Cache, PAGE, attention, attention_scratch_bytes};
use cpu::isa::Isa;
use cpu::kv::{kv_row_bytes, store_row};
use graph::DType;

const HEADS: usize = 9;
const HEADS_KV: usize = 3;
const BLOCK: usize = 32;

fn main() {
    let isa = Isa::detect();
    let only = std::env::args().nth(1).unwrap_or_default();
    for (dtype, dim) in [(DType::F16, 64), (DType::F32, 64), (DType::Q8_0, 64), (DType::F16, 128)] {
        let bench = Bench::new(isa, dtype, dim, 2048);
        println!("{isa:?}, {HEADS} heads on {HEADS_KV} of {dim}, cache {dtype}:");

        if only != "token" {
            let prompt: Vec<i32> = (0..512).collect();
            let seconds = bench.seconds(isa, &prompt);
            let seen = 512.0 * 513.0 / 2.0;
            let flop = 4.0 * seen * (HEADS * dim) as f64;
            println!("  prompt of 512: {:.3} ms, {:.1} GFlop/s", seconds * 1e3, flop / seconds * 1e-9);
        }
        if only != "prompt" {
            let seconds = bench.seconds(isa, &[2047]);
            let bytes = 2.0 * 2048.0 * (HEADS_KV * kv_row_bytes(dtype, dim)) as f64;
            let flop = 4.0 * 2048.0 * (HEADS * dim) as f64;
            println!(
                "  one token at 2,048: {:.3} ms, {:.1} GB/s, {:.1} GFlop/s",
                seconds * 1e3,
                bytes / seconds * 1e-9,
                flop / seconds * 1e-9
            );
        }
    }
}

struct Bench {
    dtype: DType,
    dim: usize,
    page_bytes: usize,
    table: Vec<i32>,
    // Words, so that rows are aligned.
    k: Vec<u64>,
    v: Vec<u64>,
}

impl Bench {
    fn new(isa: Isa, dtype: DType, dim: usize, positions: usize) -> Bench {
        let pages = positions.div_ceil(PAGE);
        let page_bytes = HEADS_KV * PAGE * kv_row_bytes(dtype, dim);
        let fill = |seed: u64| {
            let mut noise = noise(seed);
            let mut cache = vec![0u64; pages * page_bytes / 8];
            let base = cache.as_mut_ptr().cast::<u8>();
            for row in 0..pages * HEADS_KV * PAGE {
                let values: Vec<f32> = (0..dim).map(|_| noise()).collect();
                // SAFETY: the row lies in the cache.
                unsafe {
                    let dst = base.add(row * kv_row_bytes(dtype, dim));
                    store_row(isa, dtype, values.as_ptr(), dim, dst);
                }
            }
            cache
        };
        Bench { dtype, dim, page_bytes, table: (0..pages as i32).collect(), k: fill(1), v: fill(2) }
    }

    /// The time of a batch: the sum of the best times of its calls, which a busy machine disturbs
    /// less than the best time of the whole.
    fn seconds(&self, isa: Isa, positions: &[i32]) -> f64 {
        let width = HEADS * self.dim;
        let mut noise = noise(3);
        let q: Vec<f32> = (0..positions.len() * width).map(|_| noise()).collect();
        let mut out = vec![0.0f32; q.len()];
        let bytes = attention_scratch_bytes(isa, self.dim, HEADS / HEADS_KV, BLOCK);
        let mut scratch = vec![0u8; bytes];
        let cache = |data: &[u64]| Cache {
            dtype: self.dtype,
            base: data.as_ptr().cast(),
            page_bytes: self.page_bytes,
        };
        let task = Attention {
            heads: HEADS,
            heads_kv: HEADS_KV,
            head_dim: self.dim,
            scale: 0.125,
            q: q.as_ptr(),
            q_stride: width,
            out: out.as_mut_ptr(),
            out_stride: width,
            positions,
            sequences: &vec![0; positions.len()],
            page_tables: &self.table,
            table_stride: self.table.len(),
            k: cache(&self.k),
            v: cache(&self.v),
            window: None,
            soft_cap: None,
        };
        let blocks = positions.len().div_ceil(BLOCK);
        let mut best = vec![f64::INFINITY; blocks * HEADS_KV];
        let begin = Instant::now();
        while begin.elapsed().as_secs_f64() < 1.0 {
            for (call, best) in best.iter_mut().enumerate() {
                let start = call / HEADS_KV * BLOCK;
                let tokens = start..positions.len().min(start + BLOCK);
                let now = Instant::now();
                // SAFETY: all pages are written, and `out` is as large as `q`.
                unsafe { attention(isa, &task, tokens, call % HEADS_KV, &mut scratch) };
                *best = best.min(now.elapsed().as_secs_f64());
            }
        }
        std::hint::black_box(&out);
        best.iter().sum()
    }
}

/// Numbers from -1 to 1.
fn noise(seed: u64) -> impl FnMut() -> f32 {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 40) as f32 / (1 << 23) as f32 - 1.0
    }
}
