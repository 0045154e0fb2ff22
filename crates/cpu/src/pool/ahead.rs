//! What threads without work ask memory for: the first bytes that they will read in a region to come.
//!
//! Between two products of a token the memory would idle while one thread rotates, normalises and attends. A thread that
//! waits spends the time on this instead.

use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

/// Bytes for each thread: what is not used by then must not have driven out what is.
const BYTES: usize = 192 << 10;
/// Pieces of memory for each thread.
const PIECES: usize = 8;
/// Bytes between two looks for work.
const STEP: usize = 512;

/// A list of pieces for each thread. Readers may see half of an old list and half of a new one: asking for a byte needs
/// no right to read it and changes nothing but time.
pub(super) struct Ahead {
    /// Grows with every announcement.
    turn: AtomicUsize,
    threads: Vec<[Piece; PIECES]>,
}

#[derive(Default)]
struct Piece {
    address: AtomicUsize,
    bytes: AtomicUsize,
}

impl Ahead {
    pub fn new(threads: usize) -> Ahead {
        Ahead { turn: AtomicUsize::new(0), threads: (0..threads).map(|_| Default::default()).collect() }
    }

    /// A thread's list, as far as there is room for it.
    pub fn set<'a>(&self, thread: usize, pieces: impl Iterator<Item = &'a [u8]>) {
        let mut rest = BYTES;
        let mut pieces = pieces.filter(|piece| !piece.is_empty());
        for place in &self.threads[thread] {
            let piece = if rest > 0 { pieces.next().unwrap_or_default() } else { &[] };
            let bytes = piece.len().min(rest);
            rest -= bytes;
            place.address.store(piece.as_ptr() as usize, Relaxed);
            place.bytes.store(bytes, Relaxed);
        }
    }

    /// Tells the threads that the lists are new.
    pub fn publish(&self) {
        self.turn.fetch_add(1, Release);
    }

    /// Whether there were announcements since `turn`.
    pub fn is_new(&self, turn: usize) -> bool {
        self.turn.load(Relaxed) != turn
    }

    /// Asks for a thread's list until there is something better to do. Returns the turn that it belongs to.
    pub fn ask(&self, thread: usize, has_work: impl Fn() -> bool) -> usize {
        let turn = self.turn.load(Acquire);
        for piece in &self.threads[thread] {
            let (address, bytes) = (piece.address.load(Relaxed), piece.bytes.load(Relaxed));
            for offset in (0..bytes).step_by(STEP) {
                if has_work() {
                    return turn;
                }
                for line in (offset..bytes.min(offset + STEP)).step_by(64) {
                    prefetch(address.wrapping_add(line));
                }
            }
        }
        turn
    }
}

/// Asks for a cache line, for the second level. Never faults.
#[inline]
fn prefetch(address: usize) {
    let address: *const i8 = std::ptr::without_provenance(address);
    #[cfg(target_arch = "x86_64")]
    // SAFETY: SSE is part of x86-64, and a prefetch reads nothing that the program sees.
    unsafe {
        std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T1 }>(address)
    };
    #[cfg(target_arch = "aarch64")]
    // SAFETY: a prefetch reads nothing that the program sees.
    unsafe {
        std::arch::asm!("prfm pldl2keep, [{0}]", in(reg) address, options(nostack, preserves_flags, readonly))
    };
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    let _ = address;
}
