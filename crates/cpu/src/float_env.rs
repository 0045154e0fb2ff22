//! The rounding and denormal modes that every kernel counts on.

use std::marker::PhantomData;

/// Sets this thread's floating-point modes on entry and puts the old ones back when dropped.
///
/// While it lives, results are rounded to nearest (ties to even), denormals are neither flushed nor
/// read as zero, and no exception traps. A host program may have set other modes (audio and game
/// code often flushes denormals); bits that depend on them would depend on the host.
#[derive(Debug)]
pub struct FloatEnv {
    /// The control word found on entry, if it had to be changed.
    changed_from: Option<Word>,
    /// The modes belong to a thread, so the guard stays on it.
    thread: PhantomData<*const ()>,
}

impl FloatEnv {
    /// Sets the modes of the calling thread.
    pub fn enter() -> FloatEnv {
        let found = control::read();
        let differs = found & control::MODES != control::WANTED & control::MODES;
        if differs {
            control::write(control::WANTED);
        }
        FloatEnv { changed_from: differs.then_some(found), thread: PhantomData }
    }
}

impl Drop for FloatEnv {
    fn drop(&mut self) {
        if let Some(found) = self.changed_from {
            control::write(found);
        }
    }
}

#[cfg(target_arch = "x86_64")]
type Word = u32;
#[cfg(not(target_arch = "x86_64"))]
type Word = u64;

/// The register MXCSR.
#[cfg(target_arch = "x86_64")]
mod control {
    /// All but the six sticky status flags.
    pub const MODES: u32 = 0xffc0;
    /// All exceptions masked, nearest, no flush to zero, denormals are read as they are.
    pub const WANTED: u32 = 0x1f80;

    pub fn read() -> u32 {
        let mut word = 0u32;
        // SAFETY: stores four bytes to a local of four bytes.
        unsafe {
            std::arch::asm!("stmxcsr [{}]", in(reg) &mut word, options(nostack, preserves_flags));
        }
        word
    }

    pub fn write(word: u32) {
        // SAFETY: the word is `WANTED` or one that `read` returned, so no reserved bit is set. Rust
        // assumes the default modes; `WANTED` is them, and the guard puts back what it found.
        unsafe {
            std::arch::asm!("ldmxcsr [{}]", in(reg) &word, options(nostack, preserves_flags));
        }
    }
}

/// The register FPCR.
#[cfg(target_arch = "aarch64")]
mod control {
    /// Everything that software can set.
    pub const MODES: u64 = 0xffff_ffff;
    /// Nearest, no flushing, no traps, NaN payloads kept, no alternative half precision.
    pub const WANTED: u64 = 0;

    pub fn read() -> u64 {
        let word: u64;
        // SAFETY: reads a register that every program may read.
        unsafe {
            std::arch::asm!("mrs {}, fpcr", out(reg) word, options(nostack, preserves_flags));
        }
        word
    }

    pub fn write(word: u64) {
        // SAFETY: the word is `WANTED` or one that `read` returned.
        unsafe {
            std::arch::asm!("msr fpcr, {}", in(reg) word, options(nostack, preserves_flags));
        }
    }
}

/// Machines whose modes we do not know how to read: they are taken to be the default ones.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
mod control {
    pub const MODES: u64 = 0;
    pub const WANTED: u64 = 0;

    pub fn read() -> u64 {
        0
    }

    pub fn write(_: u64) {}
}
