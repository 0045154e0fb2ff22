//! RMS norm.

/// `x / sqrt(mean(x^2) + eps) * w` of one row, summed in f64.
pub fn rms_norm(x: &[f32], w: &[f32], eps: f32) -> Vec<f32> {
    assert_eq!(x.len(), w.len());
    let squares: f64 = x.iter().map(|x| f64::from(*x) * f64::from(*x)).sum();
    let root = (squares / x.len() as f64 + f64::from(eps)).sqrt();
    x.iter().zip(w).map(|(x, w)| (f64::from(*x) / root * f64::from(*w)) as f32).collect()
}
