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

/// GELU in its tanh form, computed in f64.
pub fn gelu(x: f32) -> f32 {
    let x = f64::from(x);
    let inner = libm::sqrt(2.0 / std::f64::consts::PI) * (x + 0.044715 * x * x * x);
    (0.5 * x * (1.0 + libm::tanh(inner))) as f32
}

/// `gelu(gate) * up`.
pub fn geglu(gate: &[f32], up: &[f32]) -> Vec<f32> {
    assert_eq!(gate.len(), up.len());
    gate.iter().zip(up).map(|(g, u)| gelu(*g) * u).collect()
}

/// `cap tanh(x / cap)`, computed in f64.
pub fn soft_cap(x: &[f32], cap: f32) -> Vec<f32> {
    let cap = f64::from(cap);
    x.iter().map(|x| (cap * libm::tanh(f64::from(*x) / cap)) as f32).collect()
}
