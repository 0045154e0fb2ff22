//! Random graphs on random devices.

use arbtest::arbitrary::{Result, Unstructured};
use backend::Fused;
use compile::{DeviceId, Life, Options, Program, Verify};
use graph::op::{Add, Glu, KvStore, MatMul, RmsNorm, View};
use graph::{DType, Extents, NodeId, Region, Shape, Symbol, ValueId};
use memplan::Strategy;

use crate::common::*;

#[test]
fn random_graphs_compile_and_their_plans_are_right() {
    arbtest::arbtest(one_graph).budget_ms(2000);
}

fn one_graph(u: &mut Unstructured) -> Result<()> {
    let mut small = Small::default();
    let positions = small.0.input("positions", Shape::row(Symbol::Tokens), DType::I32);
    let tables = small.0.input("tables", Shape::matrix(2, Symbol::Sequences), DType::I32);
    let weights = [DType::F32, DType::Q8_0, DType::F16]
        .map(|t| small.0.weight(&format!("square {t}"), Shape::matrix(N, N), t));
    let scale = small.0.weight("scale", Shape::row(N), DType::F32);
    let mut values: Vec<ValueId> = vec![small.input("x"), small.input("y")];
    for i in 0..u.int_in_range(1..=25)? {
        // Most read what was made of late, as in models.
        let pick = |u: &mut Unstructured| -> Result<ValueId> {
            let back = u.int_in_range(1..=values.len().min(4))?;
            Ok(if u.ratio(1, 4)? { *u.choose(&values)? } else { values[values.len() - back] })
        };
        let a = pick(u)?;
        let name = format!("n{i}");
        let to = DType::F32;
        let made = match u.int_in_range(0..=6)? {
            0 => small.0.one(&name, Add, &[a, pick(u)?]),
            1 => small.0.one(&name, RmsNorm { eps: 1e-5, to }, &[a, scale]),
            2 | 3 => small.0.one(&name, MatMul, &[a, *u.choose(&weights)?]),
            4 => small.0.one(&name, Glu { activation: graph::op::Activation::Silu, to }, &[a, pick(u)?]),
            5 => small.0.one(&name, View { shape: rows(), offset_bytes: 0 }, &[a]),
            _ => {
                let region = Region {
                    name: format!("r{i}"),
                    layer: 0,
                    dtype: DType::F16,
                    heads: 2,
                    head_dim: 32,
                    window: None,
                };
                let region = small.0.region(region);
                let store = KvStore { region, heads: 2, head_dim: 32, context: 64, rope: None, bias: false };
                small.0.node(&name, store, &[a, positions, positions, tables]).unwrap();
                continue;
            }
        };
        values.push(made.unwrap());
        if u.ratio(1, 8)? {
            small.0.output(values[values.len() - 1]);
        }
    }
    let graph = small.0.finish();
    graph::validate(&graph).unwrap();

    let devices = nulls(3);
    let preferred: Vec<_> =
        (0..graph.nodes.len()).map(|_| Ok(DeviceId(u.int_in_range(0..=2)?))).collect::<Result<_>>()?;
    let fusions = Fused {
        quantize: u.arbitrary()?,
        mat_mul_many: u.arbitrary()?,
        mat_mul_glu: u.arbitrary()?,
        bias_rope_store: u.arbitrary()?,
        add_norm: u.arbitrary()?,
        mat_mul_add: u.arbitrary()?,
    };
    let capacity = Extents { tokens: u.int_in_range(1..=9)?, outputs: 1, sequences: 2 };
    let strategy = *u.choose(&[Strategy::Packed, Strategy::SizeClass, Strategy::Naive])?;
    let verify = *u.choose(&[Verify::Off, Verify::Poison, Verify::Guards])?;
    let options = Options { fusions, strategy, in_place: u.arbitrary()?, capacity, verify };
    let prefer = |id: NodeId| preferred[id.0 as usize];
    let placed = compile::place(graph.clone(), &as_devices(&devices), &prefer, &fusions).unwrap();
    graph::validate(&placed.graph).unwrap();
    let memory = compile::plan(&placed, &as_devices(&devices), &options).unwrap();
    memory.check().unwrap();
    let program = compile::schedule(&placed, &as_devices(&devices), &memory, &options);

    // Who reads on a device what another one wrote finds it there.
    for split in &program.splits {
        for operand in split.calls.iter().flat_map(|c| &c.inputs) {
            assert_ne!(operand.at, backend::At::Nowhere, "an input is somewhere");
        }
        for call in split.calls.iter() {
            if matches!(call.op, graph::Op::AddNorm(_)) {
                assert_ne!(call.outputs[0].at, backend::At::Nowhere, "the norm reads the sum");
            }
        }
    }
    assert_eq!(program.outputs.len(), graph.outputs.len());
    operands_are_alive(&program, verify);
    Ok(())
}

/// Every operand of a call is inside a storage that belongs to it while the call runs, between its guards.
fn operands_are_alive(program: &Program, verify: Verify) {
    assert_eq!(program.lives.is_some(), verify != Verify::Off);
    let Some(lives) = &program.lives else { return };
    let on = program.splits.iter().flat_map(|split| split.calls.iter().map(|call| (split.device, call)));
    for (number, (device, call)) in on.enumerate() {
        for operand in call.inputs.iter().chain(&call.outputs) {
            let backend::At::Arena(window) = operand.at else { continue };
            let inside = |life: &&Life| {
                let start = life.offset + life.before;
                life.device == device
                    && start <= window.offset
                    && window.offset + window.bytes <= start + life.bytes
            };
            let alive = lives.storages.iter().filter(inside).filter(|life| life.holds_at(number)).count();
            assert!(alive >= 1, "{} uses what is gone or not there yet", call.name);
        }
    }
    for life in &lives.storages {
        let guards = (life.before.min(life.behind) >= 64, life.before == 0);
        assert_eq!(guards, (verify == Verify::Guards, verify == Verify::Poison));
    }
}
