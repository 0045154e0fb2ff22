//! Rotary position embedding.

/// Turns the first `rot` dimensions of one head at a position, with angles in f64.
///
/// Pair `j` is `(2 j, 2 j + 1)` if `neighbours`, else `(j, j + rot / 2)`; its angle is
/// `position * base^(-2 j / rot) / factors[j]`.
pub fn rope(
    head: &[f32],
    position: i32,
    rot: usize,
    base: f32,
    factors: Option<&[f32]>,
    neighbours: bool,
) -> Vec<f32> {
    let mut out = head.to_vec();
    for j in 0..rot / 2 {
        let exponent = -2.0 * j as f64 / rot as f64;
        let factor = factors.map_or(1.0, |factors| f64::from(factors[j]));
        let angle = f64::from(position) * libm::pow(f64::from(base), exponent) / factor;
        let (a, b) = if neighbours { (2 * j, 2 * j + 1) } else { (j, j + rot / 2) };
        let (x, y) = (f64::from(head[a]), f64::from(head[b]));
        let (sin, cos) = (libm::sin(angle), libm::cos(angle));
        out[a] = (x * cos - y * sin) as f32;
        out[b] = (x * sin + y * cos) as f32;
    }
    out
}
