//! Times each kernel on one core, with the best tier of the machine.
//!
//! `cargo bench -p cpu --bench kernels -- --quick`, with a part of a name to run some of them.
#![allow(unsafe_code)] // The kernels work on pointers into shared arenas.

use std::hint::black_box;

use cpu::attention::{Attention, Cache, PAGE, attention, attention_scratch_bytes};
use cpu::isa::Isa;
use cpu::kv::{KV_TYPES, kv_row_bytes, store_row};
use cpu::matmul::{Activations, Output, Weights, activation_dtype, matmul, scratch_bytes};
use cpu::quantize::quantize_row;
use cpu::rope::{RopePairs, rope_row, rope_table};
use cpu::{elementwise, norm};
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use graph::DType;
use graph::op::RopeScaling;

/// Columns of matrices and rows: those of a small model.
const COLUMNS: usize = 2048;
const MATRIX_ROWS: usize = 512;
const HEADS: usize = 16;
const HEADS_KV: usize = 4;
const HEAD_DIM: usize = 64;

criterion_group!(kernels, products, attentions, rows, stores);
criterion_main!(kernels);

/// Every type of weights with one token, a few and many; bytes of weights a second.
fn products(c: &mut Criterion) {
    let isa = Isa::detect();
    let mut group = c.benchmark_group("matmul");
    for dtype in DType::weights() {
        let data = weight_bytes(MATRIX_ROWS * dtype.row_bytes(COLUMNS));
        let w = Weights { dtype, cols: COLUMNS, rows: MATRIX_ROWS, data: &data };
        group.throughput(Throughput::Bytes(data.len() as u64));
        for tokens in [1, 4, 64] {
            let x_type = activation_dtype(dtype);
            let stride = x_type.row_bytes(COLUMNS);
            let mut x = vec![0u8; tokens * stride];
            for (row, floats) in
                x.chunks_exact_mut(stride).zip(floats(tokens * COLUMNS).chunks_exact(COLUMNS))
            {
                match x_type {
                    DType::F32 => row.copy_from_slice(bytemuck::cast_slice(floats)),
                    _ => quantize_row(isa, floats, row),
                }
            }
            let mut scratch = vec![0u8; scratch_bytes(isa, dtype, COLUMNS, tokens)];
            let mut out = vec![0.0f32; tokens * MATRIX_ROWS];
            group.bench_function(BenchmarkId::new(dtype.name(), tokens), |b| {
                let x = Activations { data: &x, stride, tokens };
                b.iter(|| {
                    let y = Output { ptr: out.as_mut_ptr(), stride: MATRIX_ROWS };
                    // SAFETY: the output has a row a token.
                    unsafe { matmul(isa, &w, 0..MATRIX_ROWS, black_box(&x), &y, &mut scratch) };
                });
            });
        }
    }
}

/// The last block of a prompt, and one token at depth, for one head of each type of cache.
fn attentions(c: &mut Criterion) {
    let isa = Isa::detect();
    let mut group = c.benchmark_group("attention");
    for dtype in KV_TYPES {
        for (name, positions) in
            [("prompt of 512", 480..512), ("a token at 512", 511..512), ("a token at 4096", 4095..4096)]
        {
            let row_bytes = kv_row_bytes(dtype, HEAD_DIM);
            let pages = positions.end as usize / PAGE;
            // Words, so that rows are aligned.
            let mut cells = vec![0u64; pages * PAGE * row_bytes / 8];
            let values = floats(HEAD_DIM);
            for row in 0..pages * PAGE {
                // SAFETY: the row lies in the cache.
                unsafe {
                    let to = cells.as_mut_ptr().cast::<u8>().add(row * row_bytes);
                    store_row(isa, dtype, values.as_ptr(), HEAD_DIM, to);
                }
            }
            let group_heads = HEADS / HEADS_KV;
            let positions: Vec<i32> = positions.collect();
            let (tokens, width) = (positions.len(), group_heads * HEAD_DIM);
            let q = floats(tokens * width);
            let mut out = vec![0.0f32; q.len()];
            let mut scratch = vec![0u8; attention_scratch_bytes(isa, HEAD_DIM, group_heads, tokens)];
            let table: Vec<i32> = (0..pages as i32).collect();
            let cache = Cache { dtype, base: cells.as_ptr().cast(), page_bytes: PAGE * row_bytes };
            let task = Attention {
                heads: group_heads,
                heads_kv: 1,
                head_dim: HEAD_DIM,
                scale: 0.125,
                q: q.as_ptr(),
                q_stride: width,
                out: out.as_mut_ptr(),
                out_stride: width,
                positions: &positions,
                sequences: &vec![0; tokens],
                page_tables: &table,
                table_stride: table.len(),
                k: cache,
                v: cache,
                window: None,
                soft_cap: None,
            };
            group.bench_function(BenchmarkId::new(dtype.name(), name), |b| {
                // SAFETY: all pages are written, and `out` is as large as `q`.
                b.iter(|| unsafe { attention(isa, black_box(&task), 0..tokens, 0, &mut scratch) });
            });
        }
    }
}

/// What is done to the row of a token between products.
fn rows(c: &mut Criterion) {
    let isa = Isa::detect();
    let mut group = c.benchmark_group("row");
    group.throughput(Throughput::Elements(COLUMNS as u64));
    let (x, y) = (floats(COLUMNS), floats(COLUMNS));
    let mut out = vec![0.0f32; COLUMNS];
    group.bench_function("rms_norm", |b| {
        b.iter(|| norm::rms_norm_row(isa, black_box(&x), &y, 1e-6, &mut out));
    });
    let mut quantized = vec![0u8; DType::A32.row_bytes(COLUMNS)];
    group.bench_function("quantize", |b| b.iter(|| quantize_row(isa, black_box(&x), &mut quantized)));
    let (a, b_, to) = (x.as_ptr(), y.as_ptr(), out.as_mut_ptr());
    // All that follows has rows of one length and writes `out` alone.
    group.bench_function("add", |b| {
        // SAFETY: rows of one length; only `out` is written.
        b.iter(|| unsafe { elementwise::add(isa, black_box(a), b_, to, COLUMNS) });
    });
    group.bench_function("swiglu", |b| {
        // SAFETY: rows of one length; only `out` is written.
        b.iter(|| unsafe { elementwise::swiglu(isa, black_box(a), b_, to, COLUMNS) });
    });
    group.bench_function("geglu", |b| {
        // SAFETY: rows of one length; only `out` is written.
        b.iter(|| unsafe { elementwise::geglu(isa, black_box(a), b_, to, COLUMNS) });
    });
    group.bench_function("soft_cap", |b| {
        // SAFETY: rows of one length; only `out` is written.
        b.iter(|| unsafe { elementwise::cap(isa, black_box(a), 30.0, to, COLUMNS) });
    });
    let mut table = vec![0.0f32; HEAD_DIM];
    let scaling = RopeScaling::NONE;
    group.bench_function("rope_table", |b| {
        b.iter(|| rope_table(black_box(1000), HEAD_DIM, 1e4, &scaling, None, &mut table));
    });
    let heads = COLUMNS / HEAD_DIM;
    for (name, pairs) in [("rope halves", RopePairs::Halves), ("rope neighbours", RopePairs::Neighbours)] {
        group.bench_function(name, |b| {
            // SAFETY: rows of one length; only `out` is written.
            b.iter(|| unsafe { rope_row(isa, black_box(to), heads, HEAD_DIM, HEAD_DIM, pairs, &table) });
        });
    }
}

/// A head's row into the cache, for each type of it.
fn stores(c: &mut Criterion) {
    let isa = Isa::detect();
    let mut group = c.benchmark_group("kv_store");
    group.throughput(Throughput::Elements(HEAD_DIM as u64));
    let x = floats(HEAD_DIM);
    for dtype in KV_TYPES {
        let mut row = vec![0u64; kv_row_bytes(dtype, HEAD_DIM).div_ceil(8)];
        group.bench_function(dtype.name(), |b| {
            let to = row.as_mut_ptr().cast();
            // SAFETY: the row is long enough.
            b.iter(|| unsafe { store_row(isa, dtype, black_box(x.as_ptr()), HEAD_DIM, to) });
        });
    }
}

/// Bytes that are sane numbers in every format: as halves, brain floats or floats neither tiny nor huge.
fn weight_bytes(count: usize) -> Vec<u8> {
    floats(count).into_iter().map(|x| 0x30 | (x.abs() * 15.0) as u8).collect()
}

/// Numbers from -1 to 1.
fn floats(count: usize) -> Vec<f32> {
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    let next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 40) as f32 / (1 << 23) as f32 - 1.0
    };
    std::iter::repeat_with(next).take(count).collect()
}
