//! The operation `mat_mul`.

use super::*;

/// `inputs: x, w1, .. wn -> y1, .. yn`: `yi[r, t] = wi[:, r] . x[:, t]`, f32.
///
/// A weight is `[columns, rows]`. With several weights (made by fusion) one pass over the threads serves
/// all of them; nothing is concatenated. `x` is f32 for float weights and A32 for quantized ones; before
/// lowering it is always f32.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MatMul;

impl Operation for MatMul {
    fn facts(&self) -> OpFacts {
        OpFacts { label: "mat_mul", product: true, ..OpFacts::default() }
    }

    fn work(&self, inputs: &[Meta], outputs: &[Meta], extents: &Extents) -> Work {
        Work::of_products(inputs, 1..inputs.len(), outputs, extents)
    }

    fn infer(&self, inputs: &[Meta]) -> Result<Vec<Meta>, String> {
        if inputs.len() < 2 {
            return Err(format!("expected at least 2 inputs, found {}", inputs.len()));
        }
        let x = inputs[0].0;
        let n = columns(inputs, 0)?;
        (1..inputs.len())
            .map(|i| {
                let (shape, dtype) = inputs[i];
                if columns(inputs, i)? != n {
                    return Err(format!("input {i}: expected rows of {n}, found {shape}"));
                }
                expect_product(inputs[0].1, dtype, i)?;
                Ok((Shape([shape.0[1], x.0[1], x.0[2], x.0[3]]), DType::F32))
            })
            .collect()
    }
}

/// Refuses weights (input number `input`) that cannot multiply such activations.
pub(super) fn expect_product(x: DType, weight: DType, input: usize) -> Result<(), String> {
    let fits = match x {
        DType::F32 => weight.is_weight(),
        DType::A32 => weight.is_weight() && weight.is_quantized(),
        _ => false,
    };
    if fits { Ok(()) } else { Err(format!("input {input}: {weight} weights cannot multiply {x}")) }
}
