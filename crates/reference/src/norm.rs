//! RMS norm and layer norm.

/// `x / sqrt(mean(x^2) + eps) * w` of one row, summed in f64.
pub fn rms_norm(x: &[f32], w: &[f32], eps: f32) -> Vec<f32> {
    assert_eq!(x.len(), w.len());
    let squares: f64 = x.iter().map(|x| f64::from(*x) * f64::from(*x)).sum();
    let root = (squares / x.len() as f64 + f64::from(eps)).sqrt();
    x.iter().zip(w).map(|(x, w)| (f64::from(*x) / root * f64::from(*w)) as f32).collect()
}

/// `(x - mean(x)) / sqrt(mean((x - mean(x))^2) + eps) * w + b` of one row, summed in f64.
pub fn layer_norm(x: &[f32], w: &[f32], b: &[f32], eps: f32) -> Vec<f32> {
    assert_eq!(x.len(), w.len());
    assert_eq!(x.len(), b.len());
    let n = x.len() as f64;
    let mean = x.iter().map(|x| f64::from(*x)).sum::<f64>() / n;
    let squares: f64 = x.iter().map(|x| (f64::from(*x) - mean) * (f64::from(*x) - mean)).sum();
    let root = (squares / n + f64::from(eps)).sqrt();
    let one = |((x, w), b): ((&f32, &f32), &f32)| {
        ((f64::from(*x) - mean) / root * f64::from(*w) + f64::from(*b)) as f32
    };
    x.iter().zip(w).zip(b).map(one).collect()
}
