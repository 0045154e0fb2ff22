//! Types in blocks of 32: what the kernels need to know of one, and its way into a panel.

use std::arch::aarch64::*;
use std::marker::PhantomData;
use std::ops::Range;

use super::few;
use super::panel::{Kind, Numbers, Panel, Rows, groups, halves, put_rows};
use crate::matmul::{Activations, Output, Weights};

/// A type of weights in blocks of 32: a scale, perhaps a minimum, then the numbers.
pub(super) trait Block32 {
    /// Bytes of a block.
    const BYTES: usize;
    /// Whether blocks have minima.
    const MINIMA: bool;

    /// The numbers of a block as they are, offsets taken off.
    ///
    /// # Safety
    /// The CPU has NEON, and the pointer points to a whole block.
    unsafe fn numbers(block: *const u8) -> Numbers;
}

/// The scales of a block of eight rows, and the minima or zeros.
///
/// # Safety
/// The CPU has NEON, and the pointers point to whole blocks.
#[inline]
#[target_feature(enable = "neon")]
pub(super) unsafe fn scales<T: Block32>(rows: &Rows) -> [[float32x4_t; 2]; 2] {
    // SAFETY: the caller's.
    unsafe {
        let minima = if T::MINIMA { halves(rows, 2) } else { [vdupq_n_f32(0.0); 2] };
        [halves(rows, 0), minima]
    }
}

/// The numbers of a block of four rows from `first` on.
///
/// # Safety
/// As [`scales`]; there are four rows from `first` on.
#[inline]
#[target_feature(enable = "neon")]
pub(super) unsafe fn numbers<T: Block32>(rows: &Rows, first: usize) -> [Numbers; 4] {
    // SAFETY: the caller's.
    unsafe {
        [
            T::numbers(rows[first]),
            T::numbers(rows[first + 1]),
            T::numbers(rows[first + 2]),
            T::numbers(rows[first + 3]),
        ]
    }
}

/// The kind of panel of a type.
pub(super) struct Of32<T>(PhantomData<T>);

impl<T: Block32> Kind for Of32<T> {
    const SUPER: bool = false;
    const SCALES: usize = 1;
    const MINIMA: usize = T::MINIMA as usize;
    const STORED: usize = 8 * T::BYTES;
    const FEW_TOKENS: usize = few::TOKENS;

    #[inline]
    #[target_feature(enable = "neon")]
    unsafe fn unpack(rows: &Rows, count: usize, panel: &mut Panel) {
        for block in 0..count {
            // SAFETY: the caller's.
            unsafe {
                let here: Rows = rows.map(|row| row.add(block * T::BYTES));
                for four in 0..2 {
                    let numbers = numbers::<T>(&here, 4 * four);
                    for half in 0..2 {
                        for (g, group) in groups(numbers.map(|n| n[half])).into_iter().enumerate() {
                            vst1q_s8(panel.numbers[block][4 * half + g][four].as_mut_ptr(), group);
                        }
                    }
                }
                let [scales, minima] = scales::<T>(&here);
                put_rows(&mut panel.scales[block][0], scales);
                if T::MINIMA {
                    put_rows(&mut panel.minima[block][0], minima);
                }
            }
        }
    }

    unsafe fn few(w: &Weights, rows: Range<usize>, x: &Activations, y: &Output) -> bool {
        // SAFETY: the caller's.
        unsafe { few::matmul::<T>(w, rows, x, y) }
    }
}
