//! The specification: one element after the other.

use std::ops::Range;

use half::{bf16, f16};

use super::types::{BLOCK, Q4_0_BYTES, Q8_0_BYTES, q4_0_scale, q8_0_scale, saturating_bf16, saturating_f16};

/// # Safety
/// `src` and `dst` are valid for the elements of `range`.
#[inline]
pub unsafe fn store_f16(src: *const f32, dst: *mut f16, range: Range<usize>) {
    for i in range {
        // SAFETY: the caller's promise.
        unsafe { *dst.add(i) = saturating_f16(*src.add(i)) };
    }
}

/// # Safety
/// `src` and `dst` are valid for the elements of `range`.
#[inline]
pub unsafe fn load_f16(src: *const f16, dst: *mut f32, range: Range<usize>) {
    for i in range {
        // SAFETY: the caller's promise.
        unsafe { *dst.add(i) = (*src.add(i)).to_f32() };
    }
}

/// # Safety
/// `src` and `dst` are valid for the elements of `range`.
#[inline]
pub unsafe fn store_bf16(src: *const f32, dst: *mut bf16, range: Range<usize>) {
    for i in range {
        // SAFETY: the caller's promise.
        unsafe { *dst.add(i) = saturating_bf16(*src.add(i)) };
    }
}

/// # Safety
/// `src` and `dst` are valid for the elements of `range`.
#[inline]
pub unsafe fn load_bf16(src: *const bf16, dst: *mut f32, range: Range<usize>) {
    for i in range {
        // SAFETY: the caller's promise.
        unsafe { *dst.add(i) = (*src.add(i)).to_f32() };
    }
}

/// # Safety
/// `src` is valid for reads of `blocks * BLOCK` elements, `dst` for writes of
/// `blocks * Q8_0_BYTES` bytes.
pub unsafe fn store_q8_0(src: *const f32, blocks: usize, dst: *mut u8) {
    for block in 0..blocks {
        // SAFETY: the block lies in both.
        let (x, out) = unsafe { (elements(src, block), bytes_mut::<Q8_0_BYTES>(dst, block)) };
        // As integers, magnitudes have the same order, and NaN is above all of them.
        let amax = x.iter().map(|x| magnitude(*x)).max();
        let (scale, inverse) = q8_0_scale(f32::from_bits(amax.unwrap_or(0)));
        out[..2].copy_from_slice(&scale.to_le_bytes());
        for (out, x) in out[2..].iter_mut().zip(x) {
            let q = if inverse == 0.0 { 0.0 } else { x * inverse };
            *out = q.round_ties_even().clamp(-127.0, 127.0) as i8 as u8;
        }
    }
}

/// # Safety
/// `src` is valid for reads of `blocks * Q8_0_BYTES` bytes, `dst` for writes of `blocks * BLOCK`
/// elements.
pub unsafe fn load_q8_0(src: *const u8, blocks: usize, dst: *mut f32) {
    for block in 0..blocks {
        // SAFETY: the block lies in both.
        let (bytes, out) = unsafe { (bytes::<Q8_0_BYTES>(src, block), elements_mut(dst, block)) };
        let scale = f16::from_le_bytes([bytes[0], bytes[1]]).to_f32();
        for (out, q) in out.iter_mut().zip(&bytes[2..]) {
            *out = f32::from(*q as i8) * scale;
        }
    }
}

/// # Safety
/// `src` is valid for reads of `blocks * BLOCK` elements, `dst` for writes of
/// `blocks * Q4_0_BYTES` bytes.
pub unsafe fn store_q4_0(src: *const f32, blocks: usize, dst: *mut u8) {
    for block in 0..blocks {
        // SAFETY: the block lies in both.
        let (x, out) = unsafe { (elements(src, block), bytes_mut::<Q4_0_BYTES>(dst, block)) };
        // The first element of the largest magnitude, NaN above all.
        let peak = x.iter().fold(x[0], |peak, x| if magnitude(*x) > magnitude(peak) { *x } else { peak });
        let (scale, inverse) = q4_0_scale(peak);
        out[..2].copy_from_slice(&scale.to_le_bytes());
        let q = |x: f32| if inverse == 0.0 { 8 } else { (x * inverse + 8.5).clamp(0.0, 15.0) as u8 };
        let (low, high) = x.split_at(BLOCK / 2);
        for (out, (low, high)) in out[2..].iter_mut().zip(low.iter().zip(high)) {
            *out = q(*low) | q(*high) << 4;
        }
    }
}

/// # Safety
/// `src` is valid for reads of `blocks * Q4_0_BYTES` bytes, `dst` for writes of `blocks * BLOCK`
/// elements.
pub unsafe fn load_q4_0(src: *const u8, blocks: usize, dst: *mut f32) {
    for block in 0..blocks {
        // SAFETY: the block lies in both.
        let (bytes, out) = unsafe { (bytes::<Q4_0_BYTES>(src, block), elements_mut(dst, block)) };
        let scale = f16::from_le_bytes([bytes[0], bytes[1]]).to_f32();
        let (low, high) = out.split_at_mut(BLOCK / 2);
        for (byte, (low, high)) in bytes[2..].iter().zip(low.iter_mut().zip(high)) {
            *low = (f32::from(byte & 15) - 8.0) * scale;
            *high = (f32::from(byte >> 4) - 8.0) * scale;
        }
    }
}

fn magnitude(x: f32) -> u32 {
    x.to_bits() & 0x7fff_ffff
}

/// # Safety
/// The elements of the block are readable for as long as the slice is used.
unsafe fn elements<'a>(row: *const f32, block: usize) -> &'a [f32; BLOCK] {
    // SAFETY: the caller's promise.
    unsafe { &*row.add(block * BLOCK).cast() }
}

/// # Safety
/// The elements of the block are writable, and not otherwise used as long as the slice is.
unsafe fn elements_mut<'a>(row: *mut f32, block: usize) -> &'a mut [f32; BLOCK] {
    // SAFETY: the caller's promise.
    unsafe { &mut *row.add(block * BLOCK).cast() }
}

/// # Safety
/// The bytes of the block are readable for as long as the slice is used.
unsafe fn bytes<'a, const N: usize>(row: *const u8, block: usize) -> &'a [u8; N] {
    // SAFETY: the caller's promise.
    unsafe { &*row.add(block * N).cast() }
}

/// # Safety
/// The bytes of the block are writable, and not otherwise used as long as the slice is.
unsafe fn bytes_mut<'a, const N: usize>(row: *mut u8, block: usize) -> &'a mut [u8; N] {
    // SAFETY: the caller's promise.
    unsafe { &mut *row.add(block * N).cast() }
}
