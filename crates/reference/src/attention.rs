//! Softmax attention of one query over plain rows of keys and values.

/// The softmax of `scale * q . k` times the values, in f64. With a cap, the scores go through
/// `cap tanh(score / cap)` first.
///
/// `keys` and `values` hold the rows that the query sees, one after the other, each as long as `q`.
pub fn attention(q: &[f32], keys: &[f32], values: &[f32], scale: f32, soft_cap: Option<f32>) -> Vec<f32> {
    let dim = q.len();
    assert_eq!(keys.len(), values.len());
    let scores: Vec<f64> = keys
        .chunks_exact(dim)
        .map(|key| {
            let products = q.iter().zip(key).map(|(q, k)| f64::from(*q) * f64::from(*k));
            let score = products.sum::<f64>() * f64::from(scale);
            soft_cap.map_or(score, |cap| f64::from(cap) * libm::tanh(score / f64::from(cap)))
        })
        .collect();
    let max = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let weights: Vec<f64> = scores.iter().map(|s| libm::exp(s - max)).collect();
    let sum: f64 = weights.iter().sum();
    (0..dim)
        .map(|d| {
            let column = values.iter().skip(d).step_by(dim);
            let weighted = weights.iter().zip(column).map(|(w, v)| w * f64::from(*v));
            (weighted.sum::<f64>() / sum) as f32
        })
        .collect()
}
