//! Runs that check the plan of their memory: they change nothing, and they notice.

use backend::{At, Backend, Call, Deferred, Fused, Operand};
use compile::{DeviceId, Life, Program};
use cpu::Isa;
use graph::DType;
use runtime::{Engine, Item, Params, Placement, Rows, RuntimeError, Verify};

use crate::common::*;
use crate::faulty::{Fault, Faulty};

const CHECKS: [Verify; 2] = [Verify::Poison, Verify::Guards];

/// A case for each architecture, and types of weights.
fn cases() -> impl Iterator<Item = Case> {
    let phi3 = Case { arch: "phi3", preset: "micro", quant: "Q4_0", kv: DType::F16 };
    let tiny = Case { arch: "qwen3", preset: "tiny", quant: "Q4_K_M", kv: DType::Q8_0 };
    all_cases().chain([phi3, tiny])
}

/// A prompt in batches of two sizes, and tokens of two sequences in one batch.
fn story(engine: &mut Engine) -> Vec<Vec<f32>> {
    let prompt = tokens(40, 1);
    let a = engine.create();
    let mut rows = append(engine, a, &prompt);
    let b = engine.fork(a).unwrap();
    for part in append_many(engine, &[(a, &prompt[..1]), (b, &prompt[5..12])]) {
        rows.extend(part);
    }
    engine.remove(a).unwrap();
    engine.remove(b).unwrap();
    rows
}

fn setup(case: Case) -> Setup {
    let mut setup = Setup::new(case);
    setup.params.n_seq = 2;
    setup.params.n_ubatch = 33;
    setup.params.head_rows = 5;
    setup
}

#[test]
fn checked_runs_equal_plain_ones() {
    for case in cases() {
        let setup = setup(case);
        let file = setup.file();
        let mut engine = setup.engine_with(&file);
        let expected = story(&mut engine);
        for fusions in [Fused::ALL, Fused::NONE] {
            for verify in CHECKS {
                engine.rebuild(Params { fusions, verify, ..setup.params }).unwrap();
                assert_same_bits(
                    &expected,
                    &story(&mut engine),
                    &format!("{case:?}, {fusions:?}, {verify:?}"),
                );
            }
        }
    }
}

#[test]
fn checked_runs_on_two_devices_equal_plain_ones() {
    for case in cases() {
        let setup = setup(case);
        let file = setup.file();
        let expected = story(&mut setup.engine_with(&file));
        // A layer on the other device, or every second node.
        let by_layer: Placement =
            Box::new(|graph, id| DeviceId(usize::from(graph.node(id).layer == Some(1))));
        let by_node: Placement = Box::new(|_, id| DeviceId(id.0 as usize % 2));
        for (placement, fusions) in [(by_layer, Fused::ALL), (by_node, Fused::NONE)] {
            let devices: Vec<Box<dyn Backend>> =
                vec![setup.cpu(), Box::new(Deferred::new(setup.cpu(), "deferred"))];
            let mut engine = setup.engine_on(&file, devices, placement);
            for verify in CHECKS {
                engine.rebuild(Params { fusions, verify, ..setup.params }).unwrap();
                assert_same_bits(
                    &expected,
                    &story(&mut engine),
                    &format!("{case:?}, {fusions:?}, {verify:?}"),
                );
            }
        }
    }
}

/// The tier that every machine has: working memory, and so the plan, is the same everywhere.
fn scalar(params: Params) -> Setup {
    Setup { params, isa: Isa::Scalar, ..Setup::new(QUICK) }
}

/// What a run of 7 tokens with a mistake ends with.
fn with_fault(fault: Fault, node: &str, earlier: &str, params: Params) -> Result<(), RuntimeError> {
    let setup = scalar(params);
    let device = Box::new(Faulty::new(setup.cpu(), fault, node, earlier));
    let mut engine = setup.engine_on(&setup.file(), vec![device], Box::new(|_, _| DeviceId(0)));
    let seq = engine.create();
    let tokens = tokens(7, 1);
    engine.process(&[Item { seq, tokens: &tokens, rows: Rows::Last }], &mut |_, _, _| {})
}

fn params(fusions: Fused, verify: Verify) -> Params {
    Params { n_ubatch: 16, n_outputs: 1, fusions, verify, ..Setup::new(QUICK).params }
}

#[test]
fn a_byte_beside_a_result_is_noticed_by_its_guards() {
    // Of the largest calls, and of every kind of result: f32, quantized, one row, of the head.
    let nodes = [
        (Fused::NONE, "blk.0.ffn_gate"),
        (Fused::NONE, "blk.0.attn_norm.quantize"),
        (Fused::NONE, "rope_table"),
        (Fused::NONE, "logits"),
        (Fused::ALL, "blk.0.glu"),
        (Fused::ALL, "blk.0.attention"),
        (Fused::ALL, "blk.1.ffn_down.residual"),
    ];
    for (fusions, node) in nodes {
        for fault in [Fault::WritesBehind(0), Fault::WritesBehind(63), Fault::WritesBefore] {
            match with_fault(fault, node, "", params(fusions, Verify::Guards)) {
                Err(RuntimeError::GuardChanged { node: named, found: 1, .. }) => assert_eq!(named, node),
                other => panic!("{fault:?} at {node}: {other:?}"),
            }
        }
    }
}

#[test]
fn a_byte_behind_working_memory_is_noticed_by_its_guards() {
    for node in ["blk.0.glu", "blk.1.attention"] {
        let params = params(Fused::ALL, Verify::Guards);
        match with_fault(Fault::WritesBehindScratch, node, "", params) {
            Err(RuntimeError::GuardChanged { node: named, value, .. }) => {
                assert_eq!(named, node);
                assert_eq!(value, format!("{node}.scratch"));
            }
            other => panic!("{node}: {other:?}"),
        }
    }
}

/// Pairs of calls: the second could read what the first read, were it not gone and its memory unused.
fn gone_inputs(program: &Program) -> Vec<(String, String)> {
    let lives = &program.lives.as_ref().unwrap().storages;
    let calls: Vec<_> = program.calls().collect();
    let unused = |operand: &Operand, call: usize| {
        let At::Arena(window) = operand.at else { return false };
        let overlaps = |life: &&Life| {
            window.offset < life.offset + life.bytes && life.offset < window.offset + window.bytes
        };
        !lives.iter().filter(overlaps).any(|life| life.holds_at(call))
    };
    let mut pairs = Vec::new();
    for (number, call) in calls.iter().enumerate().filter(|(_, call)| !call.outputs.is_empty()) {
        let input = &call.inputs[0];
        let same =
            |other: &&&Call| (other.inputs[0].shape, other.inputs[0].dtype) == (input.shape, input.dtype);
        let gone = calls[..number].iter().filter(same).find(|other| unused(&other.inputs[0], number));
        pairs.extend(gone.map(|earlier| (call.name.clone(), earlier.name.clone())));
    }
    pairs
}

#[test]
fn a_read_past_a_life_is_noticed_by_poison() {
    for (fusions, at_least) in [(Fused::ALL, 1), (Fused::NONE, 4)] {
        let params = params(fusions, Verify::Poison);
        let pairs = gone_inputs(scalar(params).engine().body());
        assert!(pairs.len() >= at_least, "{pairs:?}");
        for (node, earlier) in pairs {
            match with_fault(Fault::ReadsWhatIsGone, &node, &earlier, params) {
                Err(RuntimeError::Poisoned { node: named, .. }) => assert_eq!(named, node),
                other => panic!("{node} reads what {earlier} read: {other:?}"),
            }
        }
    }
}

#[test]
fn a_result_that_is_not_written_is_noticed_by_poison() {
    let nodes = [
        // None of these works in place: there its operand would be left, which is no poison.
        (Fused::NONE, "rope_table"),
        (Fused::NONE, "embeddings"),
        (Fused::NONE, "blk.0.attn_norm.quantize"),
        (Fused::NONE, "blk.1.ffn_up"),
        (Fused::NONE, "logits"),
        (Fused::ALL, "blk.0.attn_q"),
        (Fused::ALL, "blk.1.glu"),
    ];
    for (fusions, node) in nodes {
        for fault in [Fault::WritesNothing, Fault::LeavesOutARow] {
            for verify in CHECKS {
                match with_fault(fault, node, "", params(fusions, verify)) {
                    Err(RuntimeError::Poisoned { node: named, .. }) => assert_eq!(named, node),
                    other => panic!("{fault:?} at {node}: {other:?}"),
                }
            }
        }
    }
}

#[test]
fn a_plain_run_knows_nothing_of_lives() {
    let mut engine = Setup::new(QUICK).engine();
    assert_eq!((&engine.body().lives, &engine.head().lives), (&None, &None));
    let arena = engine.memory().arena_bytes;
    let params = *engine.params();
    engine.rebuild(Params { verify: Verify::Poison, ..params }).unwrap();
    assert!(engine.body().lives.is_some());
    assert_eq!(engine.memory().arena_bytes, arena, "the plan that ships");
    engine.rebuild(Params { verify: Verify::Guards, ..params }).unwrap();
    assert!(engine.memory().arena_bytes > arena, "a plan with room for guards");
}
