//! A register of rows: the few operations that the kernels are made of, in 512 and in 256 bits.

use std::arch::x86_64::*;
use std::ops::Range;

use super::panel::Panel;
use super::{few, pass, tile};
use crate::matmul::avx2::block32::Block32;
use crate::matmul::avx2::lanes::{Layout, store_lanes};
use crate::matmul::{Activations, Output, Weights};
use crate::quantize::A32Offsets;

/// The two chains of a token, for two registers of rows.
#[derive(Clone, Copy)]
pub(super) struct Sums<V: Vector> {
    pub acc: [V::Float; 2],
    pub min: [V::Float; 2],
}

/// A register with a row in each 32-bit lane.
///
/// The methods are for code that is inlined into [`Vector::pass`] and the other functions at the end,
/// which are compiled for the instructions.
///
/// # Safety
/// Of all methods: the CPU has the instructions, and pointers are valid for a register.
pub(super) trait Vector: Copy {
    const LANES: usize;
    /// Tokens of a tile whose chains and integers fit the registers, with one scale for each block of 32
    /// and with two.
    const TOKENS: [usize; 2];
    /// Tokens whose products need no panel: with 32 registers more than with 16.
    const FEW: usize;
    type Int: Copy;
    type Float: Copy;

    unsafe fn load(from: *const u8) -> Self::Int;
    unsafe fn load_floats(from: *const u8) -> Self::Float;
    /// The four bytes there in each lane.
    unsafe fn repeat(from: *const u8) -> Self::Int;
    unsafe fn splat(value: i32) -> Self::Int;
    unsafe fn splat_float(value: f32) -> Self::Float;
    /// `sum` and, lane by lane, the four products of unsigned and signed bytes.
    unsafe fn dot(sum: Self::Int, unsigned: Self::Int, signed: Self::Int) -> Self::Int;
    /// The same. Keeps the compiler from doing one token after the other, which would load every weight again
    /// for each: it must have the sums of all tokens in registers, group after group.
    unsafe fn in_register(sum: Self::Int) -> Self::Int;
    /// Lane by lane the sum of two products of 16-bit numbers.
    unsafe fn pairs(a: Self::Int, b: Self::Int) -> Self::Int;
    unsafe fn float(a: Self::Int) -> Self::Float;
    /// The upper 16 bits of each lane.
    unsafe fn upper(a: Self::Int) -> Self::Int;
    unsafe fn add(a: Self::Float, b: Self::Float) -> Self::Float;
    unsafe fn sub(a: Self::Float, b: Self::Float) -> Self::Float;
    unsafe fn mul(a: Self::Float, b: Self::Float) -> Self::Float;
    /// `a * b + c`.
    unsafe fn fma(a: Self::Float, b: Self::Float, c: Self::Float) -> Self::Float;
    /// Writes the first `count` lanes, or all.
    unsafe fn store(to: *mut f32, lanes: Self::Float, count: usize);

    /// [`pass::pass`], compiled for the instructions.
    unsafe fn pass<T: Panel>(
        w: &Weights,
        rows: Range<usize>,
        x: &Activations,
        tokens: Range<usize>,
        y: &Output,
        scratch: &mut [u8],
    );

    /// [`tile::multiply`], compiled for the instructions, as a function of its own.
    unsafe fn tile<T: Panel, const N: usize>(
        panel: *const u8,
        x: [*const u8; N],
        at: &A32Offsets,
        blocks: Range<usize>,
        sums: *mut Sums<Self>,
    );

    /// [`few::few`] with the registers of 256 bits that go with these, compiled for the instructions.
    unsafe fn few<T: Block32, L: Layout, const N: usize>(
        w: &Weights,
        rows: Range<usize>,
        x: &Activations,
        y: &Output,
    );
}

/// 16 rows in AVX-512.
#[derive(Clone, Copy)]
pub(super) struct Wide;

/// Eight rows, with the instruction of AVX-VNNI (`VEX`) or that of AVX-512: they do the same.
#[derive(Clone, Copy)]
pub(super) struct Narrow<const VEX: bool>;

/// Methods with the instructions of a tier.
macro_rules! methods {
    ($features:literal, $narrow:ty: $(fn $name:ident($($arg:ident: $type:ty),*) $(-> $result:ty)? $body:block)*) => {
        $(
            #[inline]
            #[target_feature(enable = $features)]
            unsafe fn $name($($arg: $type),*) $(-> $result)? $body
        )*

        #[target_feature(enable = $features)]
        unsafe fn pass<T: Panel>(
            w: &Weights,
            rows: Range<usize>,
            x: &Activations,
            tokens: Range<usize>,
            y: &Output,
            scratch: &mut [u8],
        ) {
            // SAFETY: the caller's.
            unsafe { pass::pass::<Self, T>(w, rows, x, tokens, y, scratch) }
        }

        #[inline(never)] // A function of its own in profiles.
        #[target_feature(enable = $features)]
        unsafe fn tile<T: Panel, const N: usize>(
            panel: *const u8,
            x: [*const u8; N],
            at: &A32Offsets,
            blocks: Range<usize>,
            sums: *mut Sums<Self>,
        ) {
            // SAFETY: the caller's.
            unsafe { tile::multiply::<Self, T, N>(panel, x, at, blocks, sums) }
        }

        #[target_feature(enable = $features)]
        unsafe fn few<T: Block32, L: Layout, const N: usize>(w: &Weights, rows: Range<usize>, x: &Activations, y: &Output) {
            // SAFETY: the caller's.
            unsafe { few::few::<$narrow, T, L, N>(w, rows, x, y) }
        }
    };
}

impl Vector for Wide {
    const LANES: usize = 16;
    const TOKENS: [usize; 2] = [6, 4];
    const FEW: usize = 8;
    type Int = __m512i;
    type Float = __m512;

    methods! { "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx2,fma,f16c", Narrow<false>:
        fn load(from: *const u8) -> __m512i {
            // SAFETY: the caller's.
            unsafe { _mm512_load_si512(from.cast()) }
        }
        fn load_floats(from: *const u8) -> __m512 {
            // SAFETY: the caller's.
            unsafe { _mm512_load_ps(from.cast()) }
        }
        fn repeat(from: *const u8) -> __m512i {
            // SAFETY: the caller's.
            unsafe { _mm512_set1_epi32(from.cast::<i32>().read_unaligned()) }
        }
        fn splat(value: i32) -> __m512i { _mm512_set1_epi32(value) }
        fn splat_float(value: f32) -> __m512 { _mm512_set1_ps(value) }
        fn dot(sum: __m512i, unsigned: __m512i, signed: __m512i) -> __m512i {
            _mm512_dpbusd_epi32(sum, unsigned, signed)
        }
        fn in_register(sum: __m512i) -> __m512i {
            let mut sum = sum;
            // SAFETY: no instruction at all; the value is as before.
            unsafe { std::arch::asm!("/* {0} */", inout(zmm_reg) sum, options(nomem, nostack, preserves_flags)) };
            sum
        }
        fn pairs(a: __m512i, b: __m512i) -> __m512i { _mm512_madd_epi16(a, b) }
        fn float(a: __m512i) -> __m512 { _mm512_cvtepi32_ps(a) }
        fn upper(a: __m512i) -> __m512i { _mm512_srai_epi32::<16>(a) }
        fn add(a: __m512, b: __m512) -> __m512 { _mm512_add_ps(a, b) }
        fn sub(a: __m512, b: __m512) -> __m512 { _mm512_sub_ps(a, b) }
        fn mul(a: __m512, b: __m512) -> __m512 { _mm512_mul_ps(a, b) }
        fn fma(a: __m512, b: __m512, c: __m512) -> __m512 { _mm512_fmadd_ps(a, b, c) }
        fn store(to: *mut f32, lanes: __m512, count: usize) {
            let mask = if count >= 16 { !0 } else { (1 << count) - 1 };
            // SAFETY: the caller's; other lanes are masked out.
            unsafe { _mm512_mask_storeu_ps(to, mask, lanes) }
        }
    }
}

macro_rules! narrow {
    ($vex:literal, $features:literal, $dot:ident, $tokens:expr) => {
        impl Vector for Narrow<$vex> {
            const LANES: usize = 8;
            const TOKENS: [usize; 2] = $tokens;
            const FEW: usize = if $vex { 4 } else { 8 };
            type Int = __m256i;
            type Float = __m256;

            methods! { $features, Self:
                fn load(from: *const u8) -> __m256i {
                    // SAFETY: the caller's.
                    unsafe { _mm256_load_si256(from.cast()) }
                }
                fn load_floats(from: *const u8) -> __m256 {
                    // SAFETY: the caller's.
                    unsafe { _mm256_load_ps(from.cast()) }
                }
                fn repeat(from: *const u8) -> __m256i {
                    // SAFETY: the caller's.
                    unsafe { _mm256_set1_epi32(from.cast::<i32>().read_unaligned()) }
                }
                fn splat(value: i32) -> __m256i { _mm256_set1_epi32(value) }
                fn splat_float(value: f32) -> __m256 { _mm256_set1_ps(value) }
                fn dot(sum: __m256i, unsigned: __m256i, signed: __m256i) -> __m256i {
                    $dot(sum, unsigned, signed)
                }
                fn in_register(sum: __m256i) -> __m256i {
                    let mut sum = sum;
                    // SAFETY: no instruction at all; the value is as before.
                    unsafe { std::arch::asm!("/* {0} */", inout(ymm_reg) sum, options(nomem, nostack, preserves_flags)) };
                    sum
                }
                fn pairs(a: __m256i, b: __m256i) -> __m256i { _mm256_madd_epi16(a, b) }
                fn float(a: __m256i) -> __m256 { _mm256_cvtepi32_ps(a) }
                fn upper(a: __m256i) -> __m256i { _mm256_srai_epi32::<16>(a) }
                fn add(a: __m256, b: __m256) -> __m256 { _mm256_add_ps(a, b) }
                fn sub(a: __m256, b: __m256) -> __m256 { _mm256_sub_ps(a, b) }
                fn mul(a: __m256, b: __m256) -> __m256 { _mm256_mul_ps(a, b) }
                fn fma(a: __m256, b: __m256, c: __m256) -> __m256 { _mm256_fmadd_ps(a, b, c) }
                fn store(to: *mut f32, lanes: __m256, count: usize) {
                    // SAFETY: the caller's.
                    unsafe { store_lanes(to, lanes, count) }
                }
            }
        }
    };
}

narrow!(true, "avxvnni,avx2,fma,f16c", _mm256_dpbusd_avx_epi32, [3, 2]);
narrow!(false, "avx512f,avx512vl,avx512vnni,avx2,fma,f16c", _mm256_dpbusd_epi32, [3, 2]);
