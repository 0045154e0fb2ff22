//! Which instruction sets this CPU offers, found once; a caller may force one.

use std::fmt;
use std::str::FromStr;

/// A tier of kernels. Every tier gives the same bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Isa {
    /// Portable Rust: the specification of every kernel.
    Scalar,
    /// AVX2 with FMA and F16C.
    Avx2,
    /// AVX2 and dot products of bytes in 256 bits: AVX-VNNI, or the same instructions of AVX-512.
    AvxVnni,
    /// AVX-512 (F, BW, DQ, VL) with VNNI.
    Avx512,
    /// NEON with dot products of bytes, of 64-bit ARM.
    Neon,
}

/// A name that is no instruction set.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown instruction set \"{name}\": expected one of {}", names())]
pub struct UnknownIsa {
    /// The name as given.
    pub name: String,
}

impl Isa {
    /// All tiers, of those of one architecture the slowest first.
    pub const ALL: [Isa; 5] = [Isa::Scalar, Isa::Avx2, Isa::AvxVnni, Isa::Avx512, Isa::Neon];

    /// The best tier that the CPU and the operating system support.
    pub fn detect() -> Isa {
        let mut usable = Isa::ALL.into_iter().rev();
        usable.find(|isa| isa.is_available().is_ok()).unwrap_or(Isa::Scalar)
    }

    /// Whether this machine can run the tier; the error says what is missing.
    ///
    /// The answer covers the operating system too, which must save the wide registers.
    pub fn is_available(self) -> Result<(), &'static str> {
        match self {
            Isa::Scalar => Ok(()),
            Isa::Avx2 => avx2_available(),
            Isa::AvxVnni => avx_vnni_available(),
            Isa::Avx512 => avx512_available(),
            Isa::Neon => neon_available(),
        }
    }

    /// The tier whose kernels this one uses where it has none of its own.
    pub(crate) const fn base(self) -> Isa {
        match self {
            Isa::Scalar => Isa::Scalar,
            Isa::Avx2 | Isa::AvxVnni | Isa::Avx512 => Isa::Avx2,
            Isa::Neon => Isa::Neon,
        }
    }

    /// The name that [`Isa::from_str`] reads.
    pub const fn name(self) -> &'static str {
        match self {
            Isa::Scalar => "scalar",
            Isa::Avx2 => "avx2",
            Isa::AvxVnni => "avx-vnni",
            Isa::Avx512 => "avx512",
            Isa::Neon => "neon",
        }
    }
}

/// The name by which the CPU calls itself, if it does (x86-64).
#[cfg(target_arch = "x86_64")]
pub fn brand() -> Option<String> {
    use std::arch::x86_64::__cpuid;
    // Three leaves of 16 bytes each, there if the largest leaf says so.
    let leaves = 0x8000_0002..=0x8000_0004;
    if __cpuid(0x8000_0000).eax < *leaves.end() {
        return None;
    }
    let registers = leaves.map(__cpuid).flat_map(|r| [r.eax, r.ebx, r.ecx, r.edx]);
    let bytes: Vec<u8> = registers.flat_map(u32::to_le_bytes).take_while(|byte| *byte != 0).collect();
    let name = String::from_utf8_lossy(&bytes).split_whitespace().collect::<Vec<_>>().join(" ");
    (!name.is_empty()).then_some(name)
}

/// The name by which the CPU calls itself, if it does (x86-64).
#[cfg(not(target_arch = "x86_64"))]
pub fn brand() -> Option<String> {
    None
}

#[cfg(target_arch = "x86_64")]
fn avx2_available() -> Result<(), &'static str> {
    if !std::arch::is_x86_feature_detected!("avx2") {
        return Err("the CPU or the operating system lacks AVX2");
    }
    if !std::arch::is_x86_feature_detected!("fma") {
        return Err("the CPU lacks FMA");
    }
    if !std::arch::is_x86_feature_detected!("f16c") {
        return Err("the CPU lacks F16C");
    }
    Ok(())
}

#[cfg(target_arch = "x86_64")]
fn avx_vnni_available() -> Result<(), &'static str> {
    avx2_available()?;
    if std::arch::is_x86_feature_detected!("avxvnni") || avx512_available().is_ok() {
        return Ok(());
    }
    Err("the CPU lacks AVX-VNNI")
}

#[cfg(target_arch = "x86_64")]
fn avx512_available() -> Result<(), &'static str> {
    avx2_available()?;
    if !std::arch::is_x86_feature_detected!("avx512f") {
        return Err("the CPU or the operating system lacks AVX-512");
    }
    if !std::arch::is_x86_feature_detected!("avx512bw") {
        return Err("the CPU lacks AVX-512 BW");
    }
    if !std::arch::is_x86_feature_detected!("avx512dq") {
        return Err("the CPU lacks AVX-512 DQ");
    }
    if !std::arch::is_x86_feature_detected!("avx512vl") {
        return Err("the CPU lacks AVX-512 VL");
    }
    if !std::arch::is_x86_feature_detected!("avx512vnni") {
        return Err("the CPU lacks AVX-512 VNNI");
    }
    Ok(())
}

#[cfg(not(target_arch = "x86_64"))]
fn avx2_available() -> Result<(), &'static str> {
    Err("AVX2 exists on x86-64 only")
}

#[cfg(not(target_arch = "x86_64"))]
fn avx_vnni_available() -> Result<(), &'static str> {
    Err("AVX-VNNI exists on x86-64 only")
}

#[cfg(not(target_arch = "x86_64"))]
fn avx512_available() -> Result<(), &'static str> {
    Err("AVX-512 exists on x86-64 only")
}

#[cfg(target_arch = "aarch64")]
fn neon_available() -> Result<(), &'static str> {
    if !std::arch::is_aarch64_feature_detected!("neon") {
        return Err("the CPU lacks NEON");
    }
    if !std::arch::is_aarch64_feature_detected!("dotprod") {
        return Err("the CPU lacks dot products of bytes");
    }
    Ok(())
}

#[cfg(not(target_arch = "aarch64"))]
fn neon_available() -> Result<(), &'static str> {
    Err("NEON exists on ARM (aarch64) only")
}

impl fmt::Display for Isa {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Isa {
    type Err = UnknownIsa;

    fn from_str(name: &str) -> Result<Isa, UnknownIsa> {
        let found = Isa::ALL.into_iter().find(|isa| isa.name() == name);
        found.ok_or_else(|| UnknownIsa { name: name.into() })
    }
}

fn names() -> String {
    Isa::ALL.map(Isa::name).join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back() {
        for isa in Isa::ALL {
            assert_eq!(isa.name().parse(), Ok(isa));
        }
    }

    #[test]
    fn an_unknown_name_is_answered_with_the_known_ones() {
        let error = "sse9".parse::<Isa>().unwrap_err();
        let expected =
            "unknown instruction set \"sse9\": expected one of scalar, avx2, avx-vnni, avx512, neon";
        assert_eq!(error.to_string(), expected);
    }

    #[test]
    fn what_is_detected_is_available() {
        assert_eq!(Isa::detect().is_available(), Ok(()));
    }
}
