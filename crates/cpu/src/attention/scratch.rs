//! Cutting a call's scratch bytes into arrays of floats.

/// Arrays start at multiples of this many bytes.
const ALIGN: usize = 64;

/// Bytes that hold arrays of these lengths, wherever the scratch begins.
pub fn bytes(lengths: &[usize]) -> usize {
    ALIGN + lengths.iter().map(|n| padded(*n)).sum::<usize>()
}

fn padded(length: usize) -> usize {
    (length * size_of::<f32>()).next_multiple_of(ALIGN)
}

/// What is left of the scratch.
pub struct Scratch<'a> {
    rest: &'a mut [u8],
}

impl<'a> Scratch<'a> {
    /// Starts at the first aligned byte.
    pub fn new(bytes: &'a mut [u8]) -> Scratch<'a> {
        let skip = bytes.as_ptr().align_offset(ALIGN);
        Scratch { rest: &mut bytes[skip..] }
    }

    /// The next array of `length` floats, holding whatever the scratch held.
    pub fn floats(&mut self, length: usize) -> &'a mut [f32] {
        let rest = std::mem::take(&mut self.rest);
        let (taken, rest) = rest.split_at_mut(padded(length));
        self.rest = rest;
        // SAFETY: the bytes are exclusively borrowed for 'a, aligned and enough, and every pattern of
        // four bytes is an f32.
        unsafe { std::slice::from_raw_parts_mut(taken.as_mut_ptr().cast(), length) }
    }
}
