//! Speed at which one token's product reads weights from memory, beside the speed of memory itself.
//!
//! Run with `cargo bench -p cpu --bench stream -- [avx2|scalar] [TYPE...] [cols=N] [tokens=N] [kb=N] [chunk=N] [small]`. Each line
//! gives GB/s of weights for one thread and for all that are worth starting: medians, then the best, of passes
//! over a matrix that no cache holds. `read` only adds up its bytes. `small` keeps it on pages of 4 KiB.
#![allow(unsafe_code)] // The kernels write through raw pointers.

use std::hint::black_box;
use std::time::Instant;

use cpu::isa::Isa;
use cpu::matmul::{Activations, Output, ROW_STEP, Weights, activation_dtype, matmul, scratch_bytes};
use cpu::pool::{ThreadPool, default_threads};
use cpu::quantize::quantize_row;
use graph::DType;
use memmap2::{Advice, MmapMut};

const TYPES: [DType; 12] = [
    DType::Q4_0,
    DType::Q4_1,
    DType::Q5_0,
    DType::Q8_0,
    DType::Q2_K,
    DType::Q3_K,
    DType::Q4_K,
    DType::Q5_K,
    DType::Q6_K,
    DType::IQ4_NL,
    DType::IQ4_XS,
    DType::F16,
];
const PASSES: usize = 25;

fn main() {
    let mut isa = Isa::detect();
    let (mut types, mut all_cols, mut tokens, mut kb, mut chunk_kb, mut small) =
        (Vec::new(), Vec::new(), 1, 192 << 10, 2 << 10, false);
    for argument in std::env::args().skip(1).filter(|a| a != "--bench") {
        let number = |name: &str| {
            argument
                .strip_prefix(name)
                .map(|n| n.parse::<usize>().unwrap_or_else(|_| panic!("{argument}: no number")))
        };
        if let Ok(given) = argument.parse() {
            isa = given;
        } else if let Some(dtype) = DType::from_name(&argument) {
            types.push(dtype);
        } else if let Some(n) = number("cols=") {
            all_cols.push(n);
        } else if let Some(n) = number("tokens=") {
            tokens = n;
        } else if let Some(n) = number("kb=") {
            kb = n;
        } else if let Some(n) = number("chunk=") {
            chunk_kb = n;
        } else if argument == "small" {
            small = true;
        } else {
            panic!(
                "{argument}: neither an instruction set, a type of weights, cols=N, tokens=N, kb=N, chunk=N nor small"
            );
        }
    }
    if types.is_empty() {
        types = TYPES.to_vec();
    }
    if all_cols.is_empty() {
        all_cols = vec![768, 1536, 4096];
    }
    let pools = [ThreadPool::new(1), ThreadPool::new(default_threads())];
    let mut memory = MmapMut::map_anon(kb << 10).expect("memory for the weights");
    #[cfg(target_os = "linux")]
    let _ = memory.advise(if small { Advice::NoHugePage } else { Advice::HugePage });
    println!("{isa}, {tokens} token(s), {kb} KiB, {} threads; GB/s, median (best)", pools[1].threads());
    for dtype in types {
        for &cols in &all_cols {
            let row_bytes = dtype.row_bytes(cols);
            fill(dtype, &mut memory);
            let rows = memory.len() / row_bytes / ROW_STEP * ROW_STEP;
            let w = Weights { dtype, cols, rows, data: &memory[..rows * row_bytes] };
            print!("{:>7} {cols:5}", dtype.to_string());
            for pool in &pools {
                let read = speeds(w.data.len(), || read(pool, w.data, chunk_kb << 10));
                let product = products(pool, isa, &w, tokens, chunk_kb << 10);
                print!("   {} thread(s): read {read} product {product}", pool.threads());
            }
            println!();
        }
    }
}

/// Ordinary numbers: NaNs and subnormals could take other paths in the CPU.
fn fill(dtype: DType, memory: &mut [u8]) {
    let mut state = 1u64;
    for word in memory.as_chunks_mut::<8>().0 {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        *word = ((state ^ state >> 29) & 0x3f3f_3f3f_3f3f_3f3f).to_le_bytes();
    }
    let places: &[usize] = match dtype {
        DType::Q4_1 | DType::Q5_1 | DType::Q4_K | DType::Q5_K => &[0, 2],
        DType::Q2_K => &[80, 82],
        DType::Q3_K => &[108],
        DType::Q6_K => &[208],
        _ => &[0],
    };
    for block in memory.chunks_exact_mut(dtype.block_bytes()) {
        for place in places {
            block[*place..][..2].copy_from_slice(&[0x00, 0x3c]);
        }
    }
}

/// Adds up the bytes as 64-bit numbers.
fn read(pool: &ThreadPool, data: &[u8], step: usize) {
    pool.run_in_ranges(data.len().div_ceil(step), &|chunk, _| {
        let chunk = &data[chunk * step..data.len().min((chunk + 1) * step)];
        let mut sums = [0u64; 32];
        for line in chunk.as_chunks::<256>().0 {
            for (sum, word) in sums.iter_mut().zip(line.as_chunks().0) {
                *sum = sum.wrapping_add(u64::from_le_bytes(*word));
            }
        }
        black_box(sums);
    });
}

fn products(pool: &ThreadPool, isa: Isa, w: &Weights, tokens: usize, chunk: usize) -> String {
    let floats: Vec<f32> = (0..w.cols).map(|i| (i % 13) as f32 - 6.0).collect();
    let stride = activation_dtype(w.dtype).row_bytes(w.cols);
    let mut x = vec![0; tokens * stride];
    for row in x.chunks_exact_mut(stride) {
        if w.dtype.is_quantized() {
            quantize_row(isa, &floats, row);
        } else {
            row.as_chunks_mut().0.iter_mut().zip(&floats).for_each(|(to, from)| *to = from.to_le_bytes());
        }
    }
    let x = Activations { data: &x, stride, tokens };
    let mut out = vec![0f32; tokens * w.rows];
    let step = (chunk / w.dtype.row_bytes(w.cols)).next_multiple_of(ROW_STEP);
    let scratch = scratch_bytes(isa, w.dtype, w.cols, tokens);
    let out_at = out.as_mut_ptr() as usize;
    speeds(w.data.len(), || {
        pool.run_in_ranges(w.rows.div_ceil(step), &|chunk, _| {
            let first = chunk * step;
            let y = Output { ptr: (out_at as *mut f32).wrapping_add(first), stride: w.rows };
            // SAFETY: the vector holds all rows of each token, and each chunk has its own.
            unsafe { matmul(isa, w, first..w.rows.min(first + step), &x, &y, &mut vec![0; scratch]) }
        });
    })
}

/// The median and the best speed of some passes over so many bytes.
fn speeds(bytes: usize, mut pass: impl FnMut()) -> String {
    pass();
    let mut all: Vec<f64> = (0..PASSES)
        .map(|_| {
            let start = Instant::now();
            pass();
            bytes as f64 / start.elapsed().as_secs_f64() / 1e9
        })
        .collect();
    all.sort_by(f64::total_cmp);
    format!("{:5.1} ({:5.1})", all[PASSES / 2], all[PASSES - 1])
}
