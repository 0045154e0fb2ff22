//! `Null` takes everything and computes nothing.

use std::sync::Arc;

use backend::{Backend, BackendError, Call, Caps, Device, Fused, Null, WeightHandle, Window};
use graph::{DType, Extents, InPlace, Op, Region, RegionId, op};

#[test]
fn null_runs_everything() {
    let mut null = Null::new("null");
    assert_eq!(null.caps().fused, Fused::ALL);
    let ops: [Op; 4] = [
        op::Add.into(),
        op::MatMul.into(),
        op::MatMulGlu { activation: graph::op::Activation::Silu, to: DType::A32 }.into(),
        op::AddNorm { eps: 0.0, to: DType::A32 }.into(),
    ];
    for op in &ops {
        assert_eq!(null.supports(op, &DType::ALL), Ok(()));
        assert!(null.writes_in_place(op, InPlace { output: 0, input: 1 }));
    }
    let extents = Extents { tokens: 3, outputs: 1, sequences: 1 };
    let call =
        Call { op: op::Add.into(), inputs: vec![], outputs: vec![], scratch: None, name: "add".to_owned() };
    let region =
        Region { name: "kv.0.k".into(), layer: 0, dtype: DType::F16, heads: 1, head_dim: 8, window: None };
    let window = Window { offset: 1 << 40, bytes: 3 };
    let mut bytes = [1, 2, 3];
    let all = |null: &mut Null, bytes: &mut [u8]| -> Result<(), BackendError> {
        null.reserve_arena(1 << 50)?;
        null.reserve_region(RegionId(0), &region, 1 << 40)?;
        null.copy_page(RegionId(0), 1, 2)?;
        null.discard_page(RegionId(5), 1)?;
        null.write(window, bytes)?;
        null.run(&[call.clone()].into(), &extents)?;
        null.synchronize()?;
        null.read(window, bytes)
    };
    all(&mut null, &mut bytes).unwrap();
    assert_eq!(bytes, [0; 3], "it reads as zeros");
}

#[test]
fn weights_get_handles_of_their_own() {
    let mut null = Null::new("null");
    let handles: Vec<_> =
        (0..3).map(|i| null.register_weight(&i.to_string(), Arc::new(vec![])).unwrap()).collect();
    assert_eq!(handles, [0, 1, 2].map(WeightHandle));
}

#[test]
fn quantized_weights_read_quantized_activations() {
    let null = Null::new("null");
    for dtype in [DType::Q4_0, DType::Q4_1, DType::Q8_0] {
        assert_eq!(null.activations(dtype), DType::A32);
    }
    for dtype in [DType::F32, DType::F16, DType::BF16] {
        assert_eq!(null.activations(dtype), DType::F32);
    }
}

#[test]
fn other_capabilities_are_kept() {
    let caps = Caps { name: "small".into(), arena_align: 256, arena_limit: Some(1000), fused: Fused::NONE };
    assert_eq!(*Null::with_caps(caps.clone()).caps(), caps);
}
