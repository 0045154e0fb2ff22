//! Programs of models.

use backend::Fused;
use compile::{DeviceId, Options};
use graph::{Extents, Graph, NodeId};

use crate::common::*;

#[test]
fn fusions_and_in_place_never_need_more_memory() {
    let model = model("qwen2", "tiny", "Q8_0", 4);
    let nulls = nulls(1);
    let bytes = |fusions, in_place| {
        let options =
            Options { fusions, in_place, ..Options::new(Extents { tokens: 64, outputs: 64, sequences: 1 }) };
        let program =
            compile::compile(body(&model), &as_devices(&nulls), &|_| DeviceId(0), &options).unwrap();
        program.arenas[0].bytes
    };
    let best = bytes(Fused::ALL, true);
    assert!(best < bytes(Fused::ALL, false));
    assert!(best < bytes(Fused::NONE, true));
    assert!(bytes(Fused::NONE, true) < bytes(Fused::NONE, false));
}

#[test]
fn programs_are_deterministic() {
    for (arch, layers) in ARCHITECTURES {
        let make = || {
            let model = model(arch, "micro", "Q8_0", layers);
            let graph: Graph = body(&model);
            let preferred = last_layer_on_second(&graph);
            let nulls = nulls(2);
            let prefer = |id: NodeId| preferred[id.0 as usize];
            let options = Options::new(Extents { tokens: 64, outputs: 64, sequences: 2 });
            let program = compile::compile(graph, &as_devices(&nulls), &prefer, &options).unwrap();
            serde_json::to_string(&program).unwrap()
        };
        let first = make();
        for _ in 0..5 {
            assert!(make() == first, "{arch}: another program from the same inputs");
        }
    }
}

#[test]
fn every_call_stays_in_its_arena_and_names_its_weights() {
    let model = model("qwen2", "micro", "Q8_0", 2);
    let graph = body(&model);
    let preferred = last_layer_on_second(&graph);
    let nulls = nulls(2);
    let options = Options::new(CAPACITY);
    let mut program =
        compile::compile(graph, &as_devices(&nulls), &|id: NodeId| preferred[id.0 as usize], &options)
            .unwrap();
    for split in &program.splits {
        let arena = program.arenas[split.device.0].bytes as usize;
        for operand in split.calls.iter().flat_map(|c| c.inputs.iter().chain(&c.outputs)) {
            match operand.at {
                backend::At::Arena(w) => {
                    assert!(w.offset + w.bytes <= arena);
                    assert_eq!(w.bytes, operand.bytes(&CAPACITY));
                }
                backend::At::Weight(handle) => {
                    assert_eq!(program.weights[handle.0 as usize].device, split.device);
                }
                backend::At::Nowhere => panic!("every value of this model is read"),
            }
        }
    }
    // Binding replaces numbers by handles, in every split.
    let handles: Vec<_> =
        (0..program.weights.len()).map(|i| backend::WeightHandle(1000 + i as u32)).collect();
    program.bind(&handles);
    for operand in program.calls().flat_map(|c| &c.inputs) {
        if let backend::At::Weight(handle) = operand.at {
            assert!(handles.contains(&handle));
        }
    }
}
