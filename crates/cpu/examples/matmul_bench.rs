//! Speed of the matrix products on one thread: Gop/s (two operations a multiply-add) and GB/s of weights.
//!
//! Run with `cargo run --release -p cpu --example matmul_bench -- [TIER...] [TYPE...] [tokens=N] [shape=RxC]`.
//! Tiers take turns; without any, it is the best. Times are minima of several runs over the same operands: small matrices stay in the caches.
#![allow(unsafe_code)] // The kernels write through raw pointers.

use std::time::{Duration, Instant};

use cpu::isa::Isa;
use cpu::matmul::{Activations, Output, Weights, activation_dtype, matmul, scratch_bytes};
use cpu::quantize::quantize_row;
use graph::DType;

const TYPES: [DType; 15] = [
    DType::Q4_0,
    DType::Q4_1,
    DType::Q5_0,
    DType::Q5_1,
    DType::Q8_0,
    DType::Q2_K,
    DType::Q3_K,
    DType::Q4_K,
    DType::Q5_K,
    DType::Q6_K,
    DType::IQ4_NL,
    DType::IQ4_XS,
    DType::F16,
    DType::BF16,
    DType::F32,
];
const TOKENS: [usize; 9] = [1, 2, 3, 4, 5, 6, 8, 64, 512];
const SHAPES: [(usize, usize); 3] = [(1536, 768), (768, 1536), (49152, 768)];

fn main() {
    let mut tiers: Vec<Isa> = Vec::new();
    let (mut types, mut tokens, mut shapes) = (Vec::new(), Vec::new(), Vec::new());
    for argument in std::env::args().skip(1) {
        if let Ok(given) = argument.parse() {
            tiers.push(given);
        } else if let Some(dtype) = DType::from_name(&argument) {
            types.push(dtype);
        } else if let Some(count) = argument.strip_prefix("tokens=") {
            tokens.push(count.parse().expect("tokens=N"));
        } else if let Some((rows, cols)) = argument.strip_prefix("shape=").and_then(|s| s.split_once('x')) {
            shapes.push((rows.parse().expect("rows"), cols.parse().expect("columns")));
        } else {
            panic!("{argument}: neither an instruction set, a type of weights, tokens=N nor shape=RxC");
        }
    }
    let or_all = |given: Vec<usize>, all: &[usize]| if given.is_empty() { all.to_vec() } else { given };
    let tokens = or_all(tokens, &TOKENS);
    if types.is_empty() {
        types = TYPES.to_vec();
    }
    if shapes.is_empty() {
        shapes = SHAPES.to_vec();
    }
    if tiers.is_empty() {
        tiers.push(Isa::detect());
    }
    println!("one thread");
    for &(_, cols) in &shapes {
        let (x, mut row) = (vec![1.5; cols], vec![0; DType::A32.row_bytes(cols)]);
        let time =
            quickest(|| (0..1000).for_each(|_| quantize_row(tiers[0], &x, std::hint::black_box(&mut row))));
        println!("quantize a row of {cols}: {:.3} us", time.as_secs_f64() * 1e3);
    }
    for dtype in types {
        for &(rows, cols) in &shapes {
            println!("{dtype} {rows} x {cols}");
            for &tokens in &tokens {
                for &isa in &tiers {
                    let time = measure(isa, dtype, rows, cols, tokens).as_secs_f64();
                    let ops = 2.0 * (rows * cols * tokens) as f64 / time / 1e9;
                    let bytes = (rows * dtype.row_bytes(cols)) as f64 / time / 1e9;
                    println!(
                        "  {isa:8} {tokens:4} tokens {:9.1} us  {ops:7.1} Gop/s  {bytes:6.1} GB/s",
                        time * 1e6
                    );
                }
            }
        }
    }
}

/// The time of one product.
fn measure(isa: Isa, dtype: DType, rows: usize, cols: usize, tokens: usize) -> Duration {
    let mut state = 1u64;
    let mut random = || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) as u32
    };
    let mut data: Vec<u8> = (0..rows * dtype.row_bytes(cols)).map(|_| random() as u8).collect();
    // Ordinary scales: NaNs and subnormals could take other paths in the CPU.
    let (one, places): (&[u8], &[usize]) = match dtype {
        DType::F32 => (&[0x00, 0x00, 0x80, 0x3f], &[0]),
        DType::BF16 => (&[0x80, 0x3f], &[0]),
        DType::Q4_1 | DType::Q5_1 | DType::Q4_K | DType::Q5_K => (&[0x00, 0x3c], &[0, 2]),
        DType::Q2_K => (&[0x00, 0x3c], &[80, 82]),
        DType::Q3_K => (&[0x00, 0x3c], &[108]),
        DType::Q6_K => (&[0x00, 0x3c], &[208]),
        _ => (&[0x00, 0x3c], &[0]),
    };
    for block in data.chunks_exact_mut(dtype.block_bytes()) {
        for place in places {
            block[*place..][..one.len()].copy_from_slice(one);
        }
    }
    let x: Vec<f32> = (0..tokens * cols).map(|_| random() as f32 / 1e9 - 1.0).collect();
    let stride = activation_dtype(dtype).row_bytes(cols);
    let mut packed = vec![0; tokens * stride];
    for (x, row) in x.chunks_exact(cols).zip(packed.chunks_exact_mut(stride)) {
        if dtype.is_quantized() {
            quantize_row(isa, x, row);
        } else {
            row.iter_mut().zip(x.iter().flat_map(|x| x.to_le_bytes())).for_each(|(to, from)| *to = from);
        }
    }
    let w = Weights { dtype, cols, rows, data: &data };
    let x = Activations { data: &packed, stride, tokens };
    let mut out = vec![0.0; tokens * rows];
    let mut scratch = vec![0; scratch_bytes(isa, dtype, cols, tokens)];
    let y = Output { ptr: out.as_mut_ptr(), stride: rows };
    let best = quickest(|| {
        // SAFETY: the vector holds a row for each token.
        unsafe { matmul(isa, &w, 0..rows, &x, &y, &mut scratch) }
    });
    std::hint::black_box(&out);
    best
}

/// The quickest of the runs that fit into a moment.
fn quickest(mut run: impl FnMut()) -> Duration {
    let mut best = Duration::MAX;
    let start = Instant::now();
    while start.elapsed() < Duration::from_millis(150) {
        let this = Instant::now();
        run();
        best = best.min(this.elapsed());
    }
    best
}
