//! Who lives where: the rules of the memory plan, on graphs.

use backend::At;
use compile::{CompileError, DeviceId, Options};
use graph::{Builder, DType, GraphError, Shape, op};

use crate::common::*;

/// Bytes of every value of the small graphs.
const BYTES: u64 = (N * 4 * CAPACITY.tokens) as u64;

#[test]
fn liveness_reuses_buffers_along_chain() {
    let mut small = Small::default();
    let x = small.input("x");
    let mut chain = vec![small.product("y0", x)];
    for i in 1..9 {
        chain.push(small.product(&format!("y{i}"), chain[i - 1]));
    }
    let p = planned(small.ending_in(chain[8]));
    for pair in chain.windows(2) {
        assert!(!overlap(&p.at(pair[0]), &p.at(pair[1])), "input and output of one product");
    }
    // The input, and two windows that take turns.
    assert_eq!(p.program.arenas[0].bytes, 3 * BYTES);
    assert_eq!(p.program.arenas[0].bytes_naive, 10 * BYTES);
}

#[test]
fn parallel_chains_do_not_share() {
    let mut small = Small::default();
    let x = small.input("x");
    let (mut a, mut b) = (vec![small.product("a0", x)], vec![small.product("b0", x)]);
    for i in 1..5 {
        a.push(small.product(&format!("a{i}"), a[i - 1]));
        b.push(small.product(&format!("b{i}"), b[i - 1]));
    }
    let end = small.add("end", a[4], b[4]);
    let p = planned(small.ending_in(end));
    for i in 0..5 {
        assert!(!overlap(&p.at(a[i]), &p.at(b[i])), "both are alive at step {i}");
        if i > 0 {
            assert!(!overlap(&p.at(a[i]), &p.at(b[i - 1])), "b[{}] is read after a[{i}] is made", i - 1);
        }
    }
    assert_eq!(p.program.arenas[0].bytes, 4 * BYTES, "the input, two that wait, one that is made");
}

#[test]
fn inputs_are_never_recycled() {
    let mut small = Small::default();
    let [x, late] = ["x", "late"].map(|name| small.input(name));
    let first = small.norm("first", x);
    let chain = (0..5).fold(vec![first], |mut chain, i| {
        chain.push(small.product(&format!("y{i}"), chain[i]));
        chain
    });
    let end = small.add("end", chain[5], late);
    let p = planned(small.ending_in(end));
    for input in [x, late] {
        for value in chain.iter().chain(&[end]) {
            assert!(!overlap(&p.at(input), &p.at(*value)), "{value} lies in an input");
        }
    }
}

#[test]
fn outputs_live_to_the_end() {
    let mut small = Small::default();
    let x = small.input("x");
    let early = small.product("early", x);
    let chain = (0..4).fold(vec![early], |mut chain, i| {
        chain.push(small.norm(&format!("y{i}"), chain[i]));
        chain
    });
    small.0.output(early);
    let p = planned(small.ending_in(chain[4]));
    for value in &chain[1..] {
        assert!(!overlap(&p.at(early), &p.at(*value)), "{value} lies in an output");
    }
    assert_eq!(p.at(chain[1]), p.at(chain[4]), "what is no output is overwritten");
}

#[test]
fn liveness_follows_execution_order() {
    // The same computation in two orders: `side` first, where it waits, or last, where it does not.
    let build = |side_first: bool| {
        let mut small = Small::default();
        let x = small.input("x");
        let early = side_first.then(|| small.product("side", x));
        let [a, b] = ["a", "b"].map(|name| small.product(name, x));
        let c = small.add("c", a, b);
        let side = early.unwrap_or_else(|| small.product("side", x));
        let end = small.add("end", c, side);
        (planned(small.ending_in(end)), side, [a, b, c])
    };
    let (p, side, others) = build(true);
    for other in others {
        assert!(!overlap(&p.at(side), &p.at(other)), "side waits while {other} is used");
    }
    assert_eq!(p.program.arenas[0].bytes, 4 * BYTES);
    let (p, side, [_, b, _]) = build(false);
    assert_eq!(p.at(side), p.at(b), "side is made when b is no longer needed");
    assert_eq!(p.program.arenas[0].bytes, 3 * BYTES);
}

#[test]
fn in_place_needs_last_reader_and_same_device() {
    let program = |read_later: bool, normed_on: &'static str, in_place: bool| {
        let mut small = Small::default();
        let x = small.input("x");
        let a = small.product("a", x);
        let b = small.norm("b", a);
        let last = if read_later { small.add("c", b, a) } else { small.product("c", b) };
        let p = planned_on(small.ending_in(last), &|name| name == normed_on, in_place);
        let device = p.placed.device(graph::NodeId(1)).0;
        p.on(a, device) == p.on(b, device)
    };
    assert!(program(false, "", true));
    assert!(!program(true, "", true), "a later node reads the operand");
    assert!(!program(false, "b", true), "the operand is a copy from another device");
    assert!(!program(false, "", false), "switched off");
}

#[test]
fn an_earlier_reader_does_not_keep_a_result_from_working_in_place() {
    let mut small = Small::default();
    let x = small.input("x");
    let a = small.product("a", x);
    let b = small.product("b", a);
    let c = small.add("c", a, b);
    let d = small.product("d", c);
    let p = planned(small.ending_in(d));
    assert_eq!(p.at(a), p.at(c), "of two operands the one that was written first");
}

#[test]
fn a_row_is_never_overwritten_by_rows() {
    let mut small = Small::default();
    let x = small.input("x");
    let row = small.0.input("row", Shape::row(N), DType::F32);
    let scale = small.0.weight("scale", Shape::row(N), DType::F32);
    let norm = op::RmsNorm { eps: 1e-5, to: DType::F32 };
    let row = small.0.one("made", norm, &[row, scale]).unwrap();
    let a = small.product("a", x);
    let b = small.add("b", a, row);
    let p = planned(small.ending_in(b));
    assert_eq!(p.at(a), p.at(b));
    assert!(!overlap(&p.at(row), &p.at(b)));
}

#[test]
fn staging_is_fresh_and_rewritten() {
    let mut small = Small::default();
    let x = small.input("x");
    let a = small.product("a", x);
    let there = ["t0", "t1", "t2"].iter().fold(vec![a], |mut chain, name| {
        chain.push(small.product(name, chain[chain.len() - 1]));
        chain
    });
    let back = small.add("back", there[3], a);
    let again = small.add("t3", back, a);
    let p = planned_on(small.ending_in(again), &|name| name.starts_with('t'), true);

    // `a` goes there, the end of the chain comes back, `back` goes there; `a` is still there.
    let copies: Vec<_> = p
        .program
        .splits
        .iter()
        .map(|s| s.copies.iter().map(|c| (c.from_device, s.device)).collect::<Vec<_>>())
        .collect();
    let [here, other] = [DeviceId(0), DeviceId(1)];
    assert_eq!(copies, [vec![], vec![(here, other)], vec![(other, here)], vec![(here, other)]]);

    // Every copy is made in every run, into a window that nothing else on the device ever has.
    for (value, device) in [(a, 1), (there[3], 0), (back, 1)] {
        let staged = p.on(value, device);
        for node in p.placed.graph.node_ids().filter(|id| p.placed.device(*id).0 == device) {
            for written in &p.placed.graph.node(node).outputs {
                assert!(
                    !overlap(&staged, &p.on(*written, device)),
                    "{written} lies in the staging of {value}"
                );
            }
        }
        let copy = p.program.splits.iter().flat_map(|s| s.copies.iter().map(move |c| (s.device.0, c)));
        let windows: Vec<_> = copy.filter(|(d, _)| *d == device).map(|(_, c)| c.to.offset as u64).collect();
        assert!(windows.contains(&staged.start));
    }
    // The original is where it was for its readers at home, behind those on the other device.
    assert!(!overlap(&p.at(a), &p.at(there[3])));
}

#[test]
fn a_value_lives_until_its_last_reader_on_another_device() {
    let mut small = Small::default();
    let x = small.input("x");
    let a = small.product("a", x);
    let b = small.product("b", x);
    let c = small.product("c", b);
    let end = small.add("there", a, c);
    let p = planned_on(small.ending_in(end), &|name| name == "there", true);
    assert!(!overlap(&p.at(a), &p.at(b)));
    assert!(!overlap(&p.at(a), &p.at(c)), "a is copied when c is made");
}

#[test]
fn dead_nodes_get_no_memory() {
    let mut small = Small::default();
    let x = small.input("x");
    let unread_input = small.input("unread");
    let a = small.product("a", x);
    let dead = small.product("dead", a);
    let deader = small.add("deader", dead, unread_input);
    let b = small.product("b", a);
    let p = planned(small.ending_in(b));
    for value in [dead, deader, unread_input] {
        assert_eq!(p.memory.window(value, DeviceId(0)), None);
    }
    let names: Vec<_> = p.program.calls().map(|c| c.name.as_str()).collect();
    assert_eq!(names, ["a", "b"]);
    assert_eq!(p.program.input("unread").unwrap().windows, []);
    assert_eq!(p.program.arenas[0].bytes, 3 * BYTES);
}

#[test]
fn views_cost_nothing_and_keep_what_they_look_into_alive() {
    let mut small = Small::default();
    let x = small.input("x");
    let a = small.product("a", x);
    // The second half of the tokens that the program is planned for.
    let half = op::View { shape: Shape::matrix(N, 2), offset_bytes: 2 * N * 4 };
    let view = small.0.one("view", half, &[a]).unwrap();
    let b = small.product("b", x);
    let c = small.product("c", view);
    small.0.output(b);
    let p = planned(small.ending_in(c));
    let (a, view, b) = (p.at(a), p.at(view), p.at(b));
    assert_eq!(view, a.start + 2 * N as u64 * 4..a.start + 2 * N as u64 * 4 + BYTES / 2);
    assert!(!overlap(&a, &b), "the view is read after b is made");
    assert!(p.program.calls().all(|c| c.name != "view"), "nothing is computed");
}

#[test]
fn a_view_is_where_its_bytes_are() {
    let mut small = Small::default();
    let x = small.input("x");
    let a = small.product("a", x);
    let view = small.0.one("view", op::View { shape: rows(), offset_bytes: 0 }, &[a]).unwrap();
    let b = small.product("b", view);
    let p = planned_on(small.ending_in(b), &|name| name != "a", true);
    assert_eq!(p.placed.devices, [0, 0, 1].map(DeviceId));
    let copies = &p.program.splits[1].copies;
    assert_eq!(copies.len(), 1);
    assert_eq!(copies[0].from.offset as u64, p.at(a).start);
    let read = &p.program.splits[1].calls[0].inputs[0];
    assert_eq!(read.at, At::Arena(copies[0].to));
}

#[test]
fn cycle_graph_allocation_fails() {
    let mut small = Small::default();
    let x = small.input("x");
    let a = small.norm("a", x);
    let b = small.norm("b", a);
    let mut graph = small.ending_in(b);
    graph.nodes[0].inputs[0] = b;
    let nulls = nulls(1);
    let error =
        compile::compile(graph, &as_devices(&nulls), &|_| DeviceId(0), &Options::new(CAPACITY)).unwrap_err();
    match error {
        CompileError::Graph(GraphError::Order { node, value, writer }) => {
            assert_eq!([node, value, writer], ["a", "b", "b"]);
        }
        error => panic!("{error}"),
    }
}

#[test]
fn an_arena_beyond_the_device_is_an_error_that_says_how_much() {
    let mut caps = backend::Device::caps(&nulls(1)[0]).clone();
    caps.arena_limit = Some(2 * BYTES as usize);
    let small_device = backend::Null::with_caps(caps);
    let mut small = Small::default();
    let x = small.input("x");
    let a = small.product("a", x);
    let b = small.product("b", a);
    let options = Options::new(CAPACITY);
    let error =
        compile::compile(small.ending_in(b), &[&small_device], &|_| DeviceId(0), &options).unwrap_err();
    assert!(
        matches!(&error, CompileError::Plan(memplan::PlanError::OverBudget(over)) if over.bytes == 3072),
        "{error}"
    );
}

#[test]
fn a_shorter_batch_needs_no_other_program() {
    let mut builder = Builder::new();
    let table = builder.weight("table", Shape::matrix(N, 100), DType::Q8_0);
    let ids = builder.input("ids", Shape::row(graph::Symbol::Tokens), DType::I32);
    let rows = builder.one("rows", op::GetRows, &[table, ids]).unwrap();
    builder.output(rows);
    let p = planned(builder.finish());
    let output = &p.program.outputs[0];
    for tokens in 0..=CAPACITY.tokens {
        let extents = graph::Extents { tokens, ..CAPACITY };
        assert!(output.shape.bytes(output.dtype, &extents) <= output.window.bytes);
    }
    assert_eq!(output.window.bytes as u64, BYTES);
}
