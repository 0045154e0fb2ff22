//! Operations element by element.

/// `a + b`.
pub fn add(a: &[f32], b: &[f32]) -> Vec<f32> {
    assert_eq!(a.len(), b.len());
    a.iter().zip(b).map(|(a, b)| a + b).collect()
}

/// `x / (1 + e^-x)`, computed in f64.
pub fn silu(x: f32) -> f32 {
    let x = f64::from(x);
    (x / (1.0 + libm::exp(-x))) as f32
}

/// `silu(gate) * up`.
pub fn swiglu(gate: &[f32], up: &[f32]) -> Vec<f32> {
    assert_eq!(gate.len(), up.len());
    gate.iter().zip(up).map(|(g, u)| silu(*g) * u).collect()
}
