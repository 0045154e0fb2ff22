//! What rows have of one range of positions, or of several that were folded.

/// A row is a query head of a token. One that sees nothing of the range has a sum of 0; every other sum is at
/// least 1, or NaN.
pub struct Part<'a> {
    /// Weighted values: (rows, [`stride`]).
    pub values: &'a mut [f32],
    /// The largest score of each row.
    pub max: &'a mut [f32],
    /// The sum of the exponentials of each row, relative to the largest score.
    pub sum: &'a mut [f32],
}

/// Elements of a row of weighted values: whole vectors.
pub fn stride(head_dim: usize) -> usize {
    head_dim.next_multiple_of(8)
}

/// Floats that hold a part.
pub fn len(head_dim: usize, rows: usize) -> usize {
    rows * (stride(head_dim) + 2)
}

impl<'a> Part<'a> {
    /// Cuts the first [`len`] floats.
    pub fn new(floats: &'a mut [f32], head_dim: usize, rows: usize) -> Part<'a> {
        let (values, rest) = floats.split_at_mut(rows * stride(head_dim));
        let (max, rest) = rest.split_at_mut(rows);
        Part { values, max, sum: &mut rest[..rows] }
    }

    /// Makes it that of rows that have seen nothing.
    pub fn clear(&mut self) {
        self.values.fill(0.0);
        self.max.fill(f32::NEG_INFINITY);
        self.sum.fill(0.0);
    }
}
