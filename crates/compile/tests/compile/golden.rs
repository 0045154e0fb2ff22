//! What each pass makes of a small model, line by line.

use std::fmt::Write;
use std::path::Path;

use backend::{At, Fused, Operand};
use compile::{DeviceId, MemoryPlan, Options, Placed, Program};
use graph::{Extents, NodeId};
use models::Model;

use crate::common::*;

/// Room for 8 tokens, of which 2 go on to the head, of 2 sequences: every count differs where it can.
const EXTENTS: Extents = Extents { tokens: 8, outputs: 3, sequences: 2 };

#[test]
fn passes_on_llama_are_as_written_down() {
    passes(&model("llama", "micro", "Q8_0", 2));
}

#[test]
fn passes_on_qwen2_are_as_written_down() {
    passes(&model("qwen2", "micro", "Q8_0", 2));
}

/// A layer with a window and one without.
#[test]
fn passes_on_gemma3_are_as_written_down() {
    let period = ("gemma3.attention.sliding_window_pattern", 2);
    passes(&model_with("gemma3", "micro", "Q8_0", 2, &[period]));
}

#[test]
fn passes_on_qwen3moe_are_as_written_down() {
    passes(&model("qwen3moe", "micro", "Q8_0", 2));
}

/// Every pass on one device, and the calls on two.
fn passes(model: &Model) {
    let arch = model.config.arch.name;
    let graph = body(model);
    let options = Options::new(EXTENTS);
    let one = nulls(1);
    let one = as_devices(&one);

    let devices = compile::assign(&graph, &one, &|_| DeviceId(0)).unwrap();
    let assigned = Placed { graph: graph.clone(), devices };
    golden(&format!("{arch}.1-assign.txt"), &assigned.to_text());
    let lowered = compile::lower(assigned, &one);
    golden(&format!("{arch}.2-lower.txt"), &lowered.to_text());
    let fused = compile::fuse(lowered, &one, &Fused::ALL);
    golden(&format!("{arch}.3-fuse.txt"), &fused.to_text());
    let memory = compile::plan(&fused, &one, &options).unwrap();
    golden(&format!("{arch}.4-plan.txt"), &windows(&memory));
    let program = compile::schedule(&fused, &one, &memory, &options);
    golden(&format!("{arch}.5-schedule.txt"), &calls(&program));
    assert_eq!(compile::compile(graph.clone(), &one, &|_| DeviceId(0), &options).unwrap(), program);

    let two = nulls(2);
    let preferred = last_layer_on_second(&graph);
    let program =
        compile::compile(graph, &as_devices(&two), &|id: NodeId| preferred[id.0 as usize], &options).unwrap();
    golden(&format!("{arch}.6-two-devices.txt"), &calls(&program));
}

/// Compares with a file, or writes it if asked to.
fn golden(name: &str, found: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/compile/golden").join(name);
    if std::env::var("MINFER_BLESS").is_ok_and(|v| v == "1") {
        std::fs::write(&path, found).unwrap();
        return;
    }
    let expected = std::fs::read_to_string(&path)
        .unwrap_or_else(|e| panic!("{}: {e}; MINFER_BLESS=1 writes it", path.display()));
    for (line, (e, f)) in expected.lines().zip(found.lines()).enumerate() {
        assert_eq!(f, e, "{name}, line {}", line + 1);
    }
    assert_eq!(found.lines().count(), expected.lines().count(), "{name}: number of lines");
}

/// Every storage of a plan: where it is, when it is in use, who is in it.
fn windows(memory: &MemoryPlan) -> String {
    let mut out = String::new();
    for (space, report) in memory.problem.spaces.iter().zip(&memory.plan.spaces) {
        let _ = writeln!(
            out,
            "{}: {} bytes, at least {}, {} without sharing",
            space.name, report.bytes, report.lower_bound, report.naive
        );
    }
    for storage in &memory.plan.storages {
        let members: Vec<_> =
            storage.members.iter().map(|v| memory.problem.values[v.index()].name.as_str()).collect();
        let _ = writeln!(
            out,
            "{}+{} steps {}..={}: {}",
            storage.offset,
            storage.bytes,
            storage.first,
            storage.last,
            members.join(", ")
        );
    }
    out
}

/// Inputs, splits with their copies and calls, outputs.
fn calls(program: &Program) -> String {
    let mut out = String::new();
    for input in &program.inputs {
        let places: Vec<_> =
            input.windows.iter().map(|(d, w)| format!("@{} {}+{}", d.0, w.offset, w.bytes)).collect();
        let _ = writeln!(out, "input {}:{}{} {}", input.name, input.dtype, input.shape, places.join(", "));
    }
    for split in &program.splits {
        let _ = writeln!(out, "split @{}", split.device.0);
        for copy in &split.copies {
            let _ = writeln!(
                out,
                "  copy {}{} @{} {}+{} -> {}+{}",
                copy.dtype,
                copy.shape,
                copy.from_device.0,
                copy.from.offset,
                copy.from.bytes,
                copy.to.offset,
                copy.to.bytes
            );
        }
        for call in split.calls.iter() {
            let list = |operands: &[Operand]| {
                operands.iter().map(|o| operand(program, o)).collect::<Vec<_>>().join(", ")
            };
            let label = call.op.facts().label;
            let _ = writeln!(
                out,
                "  {label}({}) -> {} \"{}\"",
                list(&call.inputs),
                list(&call.outputs),
                call.name
            );
        }
    }
    for output in &program.outputs {
        let _ = writeln!(
            out,
            "output {}:{}{} @{} {}+{}",
            output.name,
            output.dtype,
            output.shape,
            output.device.0,
            output.window.offset,
            output.window.bytes
        );
    }
    out
}

fn operand(program: &Program, operand: &Operand) -> String {
    match operand.at {
        At::Arena(w) => format!("{}{} {}+{}", operand.dtype, operand.shape, w.offset, w.bytes),
        At::Weight(handle) => format!("{}:{}", program.weights[handle.0 as usize].name, operand.dtype),
        At::Nowhere => format!("{}{} nowhere", operand.dtype, operand.shape),
    }
}
