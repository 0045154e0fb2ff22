//! What this machine can do at most: the yardsticks of measurements.

#[cfg(target_arch = "x86_64")]
mod int8;
#[cfg(target_arch = "aarch64")]
mod int8_neon;

use std::hint::black_box;
use std::time::Instant;

use crate::{Isa, ThreadPool};

/// More than any cache holds.
const STREAM_BYTES: usize = 512 << 20;
/// A region's piece of the stream.
const CHUNK_WORDS: usize = (1 << 20) / size_of::<u64>();
/// Passes; the best counts, since whatever else runs on the machine only slows one down.
const PASSES: usize = 7;

/// Bytes a second that the pool's threads read together from memory that lies on large pages where the system has them.
/// Takes about half a second and 512 MiB.
pub fn read_bandwidth(pool: &ThreadPool) -> Option<f64> {
    let map = memmap2::MmapMut::map_anon(STREAM_BYTES).ok()?;
    #[cfg(target_os = "linux")]
    let _ = map.advise(memmap2::Advice::HugePage);
    let mut map = map;
    map.fill(1);
    let words = bytemuck::cast_slice::<u8, u64>(&map);
    let chunks: Vec<&[u64]> = words.chunks(CHUNK_WORDS).collect();
    let pass = || {
        let started = Instant::now();
        pool.run(chunks.len(), &|chunk, _| {
            let sum = chunks[chunk].iter().fold(0u64, |sum, word| sum.wrapping_add(*word));
            black_box(sum);
        });
        started.elapsed().as_secs_f64()
    };
    let best = (0..PASSES).map(|_| pass()).fold(f64::INFINITY, f64::min);
    Some(STREAM_BYTES as f64 / best)
}

/// Operations a second (a multiplication and an addition are two) of products of bytes that the pool's threads do together
/// from registers, with the tier's instructions; `None` for a tier without any.
pub fn int8_peak(pool: &ThreadPool, isa: Isa) -> Option<f64> {
    let block = int8_block(isa)?;
    // A piece for each thread and some more, so that a late one does not stretch the end.
    let pieces = pool.threads() * 8;
    let pass = || {
        let started = Instant::now();
        pool.run(pieces, &|_, _| {
            black_box(block());
        });
        started.elapsed().as_secs_f64()
    };
    let best = (0..PASSES).map(|_| pass()).fold(f64::INFINITY, f64::min);
    Some(pieces as f64 * block().1 as f64 / best)
}

/// Does some products, and says how many operations that were.
type Block = fn() -> (i32, u64);

#[cfg(target_arch = "x86_64")]
fn int8_block(isa: Isa) -> Option<Block> {
    isa.is_available().ok()?;
    match isa {
        Isa::Scalar | Isa::Neon => None,
        Isa::Avx2 => Some(int8::avx2),
        Isa::AvxVnni => Some(int8::avx_vnni),
        Isa::Avx512 => Some(int8::avx512),
    }
}

#[cfg(target_arch = "aarch64")]
fn int8_block(isa: Isa) -> Option<Block> {
    isa.is_available().ok()?;
    (isa == Isa::Neon).then_some(int8_neon::neon)
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn int8_block(_: Isa) -> Option<Block> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_tier_that_has_instructions_of_its_own_has_a_peak() {
        let pool = ThreadPool::new(2);
        for isa in Isa::ALL.into_iter().filter(|isa| isa.is_available().is_ok()) {
            let peak = int8_peak(&pool, isa);
            assert_eq!(peak.is_some(), isa != Isa::Scalar, "{isa}");
            assert!(peak.is_none_or(|ops| ops.is_finite() && ops > 1e9), "{isa}: {peak:?}");
        }
    }
}
