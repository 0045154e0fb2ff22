//! Fusions: each for itself, only where it may be.

use backend::{Caps, Device, Fused, Null};
use compile::{DeviceId, Options, Placed, place};
use graph::op::{Quantize, RmsNorm};
use graph::{DType, Graph, Node, NodeId, Op, Shape};

use crate::common::*;

/// Whether the graph has the fused operation of each switch.
fn found(graph: &Graph) -> Fused {
    let any = |is: fn(&Op, usize) -> bool| graph.nodes.iter().any(|n| is(&n.op, n.inputs.len()));
    Fused {
        // Where there are experts, the norm before them is read by their router as well.
        quantize: !graph
            .nodes
            .iter()
            .any(|n| matches!(n.op, Op::Quantize(_)) && n.name.contains("attn_norm")),
        mat_mul_many: any(|op, inputs| matches!(op, Op::MatMul(_)) && inputs > 2),
        mat_mul_glu: any(|op, _| matches!(op, Op::MatMulGlu(_))),
        bias_rope_store: any(|op, _| matches!(op, Op::KvStore(store) if store.rope.is_some())),
        add_norm: any(|op, _| matches!(op, Op::AddNorm(_))),
        mat_mul_add: any(|op, _| matches!(op, Op::MatMulAdd(_))),
    }
}

#[test]
fn fusion_switches_are_independent() {
    let quants = |(arch, layers)| ["Q8_0", "F32"].map(|quant| (arch, layers, quant));
    for (arch, layers, quant) in ARCHITECTURES.into_iter().flat_map(quants) {
        let model = model(arch, "micro", quant, layers);
        let nulls = nulls(2);
        let devices = as_devices(&nulls);
        for fusions in fusion_switches() {
            for split in [false, true] {
                let graph = body(&model);
                let mut preferred = last_layer_on_second(&graph);
                if !split {
                    preferred.fill(DeviceId(0));
                }
                let placed =
                    place(graph, &devices, &|id: NodeId| preferred[id.0 as usize], &fusions).unwrap();
                graph::validate(&placed.graph).unwrap();
                // Nothing is quantized for float weights.
                let quantize = fusions.quantize || quant == "F32";
                // The products of experts are not fused.
                let mat_mul_glu = fusions.mat_mul_glu && arch != "qwen3moe";
                // Gemma norms what is added to the residual stream; where products are added to it, `add_norm` finds
                // only the sum of experts before the norm of the next layer.
                let normed = arch.starts_with("gemma");
                let mat_mul_add = fusions.mat_mul_add && !normed;
                let add_norm = fusions.add_norm && (!mat_mul_add || (arch == "qwen3moe" && !split));
                let expected = Fused { quantize, mat_mul_glu, mat_mul_add, add_norm, ..fusions };
                assert_eq!(found(&placed.graph), expected, "{arch} {quant}, split: {split}");
                let options = Options { fusions, ..Options::new(CAPACITY) };
                let memory = compile::plan(&placed, &devices, &options).unwrap();
                memory.check().unwrap();
            }
        }
    }
}

#[test]
fn a_device_without_a_fused_operation_does_not_get_it() {
    let model = model("qwen2", "micro", "Q8_0", 2);
    for able in fusion_switches() {
        let caps = Caps { fused: able, ..Null::new("able").caps().clone() };
        let device = Null::with_caps(caps);
        let placed = place(body(&model), &[&device], &|_| DeviceId(0), &Fused::ALL).unwrap();
        // Products that are added to the residual stream leave no sums for `add_norm`.
        let expected = Fused { add_norm: able.add_norm && !able.mat_mul_add, ..able };
        assert_eq!(found(&placed.graph), expected);
    }
}

#[test]
fn fusions_never_cross_devices() {
    // One device after the other: no two neighbours are together.
    let nulls = nulls(3);
    for (arch, layers) in ARCHITECTURES {
        let graph = body(&model(arch, "micro", "F32", layers));
        // Regions bind stores and attention; every other node is alone among its neighbours.
        let prefer = |id: NodeId| DeviceId(id.0 as usize % 3);
        let devices = compile::assign(&graph, &as_devices(&nulls), &prefer).unwrap();
        let before = Placed { graph: graph.clone(), devices };
        let after = place(graph, &as_devices(&nulls), &prefer, &Fused::ALL).unwrap();
        let device_of = |is: &dyn Fn(&Node) -> bool| {
            let index = before.graph.nodes.iter().position(is).unwrap();
            before.devices[index]
        };
        for (node, device) in after.graph.nodes.iter().zip(&after.devices) {
            assert_eq!(device_of(&|n| n.name == node.name), *device, "{} moved", node.name);
            // A value that a node of the old graph wrote is still written on that node's device.
            for output in &node.outputs {
                let name = &after.graph.value(*output).name;
                let writes = |n: &Node| n.outputs.iter().any(|v| before.graph.value(*v).name == *name);
                assert_eq!(device_of(&writes), *device);
            }
        }
    }
}

/// The graph after all fusions on one device.
fn fused(graph: Graph) -> Graph {
    let nulls = nulls(1);
    place(graph, &as_devices(&nulls), &|_| DeviceId(0), &Fused::ALL).unwrap().graph
}

fn labels(graph: &Graph) -> Vec<&'static str> {
    graph.node_ids().map(|id| graph.facts(id).label).collect()
}

#[test]
fn add_norm_needs_a_sum_that_lives_on() {
    let build = |lives_on: bool| {
        let mut small = Small::default();
        let [a, b] = ["a", "b"].map(|name| small.input(name));
        let sum = small.add("sum", a, b);
        let normed = small.norm("normed", sum);
        let end = if lives_on { small.add("end", normed, sum) } else { small.product("end", normed) };
        labels(&fused(small.ending_in(end)))
    };
    assert_eq!(build(true), ["add_norm", "add"]);
    assert_eq!(build(false), ["add", "rms_norm", "mat_mul"], "a kernel has nowhere to put the sum");
}

#[test]
fn a_product_is_added_where_the_residual_stream_is() {
    let build = |product_first: bool, read_twice: bool| {
        let mut small = Small::default();
        let x = small.input("x");
        let residual = small.norm("residual", x);
        let product = small.product("product", x);
        let sum = if product_first {
            small.add("sum", product, residual)
        } else {
            small.add("sum", residual, product)
        };
        if read_twice {
            small.0.output(product);
        }
        small.ending_in(sum)
    };
    for product_first in [false, true] {
        assert_eq!(labels(&fused(build(product_first, false))), ["rms_norm", "mat_mul_add"]);
        assert_eq!(labels(&fused(build(product_first, true))), ["rms_norm", "mat_mul", "add"]);
        let nulls = nulls(1);
        let placed =
            place(build(product_first, false), &as_devices(&nulls), &|_| DeviceId(0), &Fused::ALL).unwrap();
        let options = Options::new(CAPACITY);
        let memory = compile::plan(&placed, &as_devices(&nulls), &options).unwrap();
        let [norm, add] = [0, 1].map(|node| placed.graph.nodes[node].outputs[0]);
        assert_eq!(memory.window(norm, DeviceId(0)), memory.window(add, DeviceId(0)));
    }
}

#[test]
fn a_bias_is_no_residual_stream() {
    let mut small = Small::default();
    let x = small.input("x");
    let product = small.product("product", x);
    let bias = small.0.weight("bias", Shape::row(N), DType::F32);
    let sum = small.add("sum", product, bias);
    assert_eq!(labels(&fused(small.ending_in(sum))), ["mat_mul", "add"]);
}

#[test]
fn add_norm_needs_a_weight_that_is_there() {
    let mut small = Small::default();
    let [a, b] = ["a", "b"].map(|name| small.input(name));
    let row = small.0.input("row", Shape::row(N), DType::F32);
    let sum = small.add("sum", a, b);
    let scale = small.0.weight("scale", Shape::row(N), DType::F32);
    let norm = RmsNorm { eps: 1e-5, to: DType::F32 };
    let made = small.0.one("made", norm.clone(), &[row, scale]).unwrap();
    let normed = small.0.one("normed", norm, &[sum, made]).unwrap();
    let end = small.add("end", normed, sum);
    assert_eq!(labels(&fused(small.ending_in(end))), ["add", "rms_norm", "rms_norm", "add"]);
}

#[test]
fn a_value_that_others_read_is_not_fused_away() {
    let mut small = Small::default();
    let x = small.input("x");
    let normed = small.norm("normed", x);
    let quantized = small.0.one("quantized", Quantize, &[normed]).unwrap();
    let weight = small.0.weight("blocks", Shape::matrix(N, N), DType::Q8_0);
    let a = small.0.one("a", graph::op::MatMul, &[quantized, weight]).unwrap();
    let end = small.add("end", a, normed);
    assert_eq!(labels(&fused(small.ending_in(end))), ["rms_norm", "quantize", "mat_mul_add"]);

    let mut small = Small::default();
    let x = small.input("x");
    let [gate, up] = ["gate", "up"].map(|name| small.product(name, x));
    let wide = small
        .0
        .one("wide", graph::op::Glu { activation: graph::op::Activation::Silu, to: DType::F32 }, &[gate, up])
        .unwrap();
    small.0.output(gate);
    assert_eq!(labels(&fused(small.ending_in(wide))), ["mat_mul", "swiglu"], "the gate is an output");
}

#[test]
fn activations_are_quantized_once_for_all_readers() {
    let placed = {
        let nulls = nulls(1);
        let graph = body(&model("llama", "micro", "Q8_0", 2));
        place(graph, &as_devices(&nulls), &|_| DeviceId(0), &Fused::NONE).unwrap()
    };
    let quantized: Vec<_> = placed
        .graph
        .nodes
        .iter()
        .filter(|n| matches!(n.op, Op::Quantize(_)))
        .map(|n| placed.graph.value(n.inputs[0]).name.as_str())
        .collect();
    let expected = [
        "blk.0.attn_norm",
        "blk.0.attention",
        "blk.0.ffn_norm",
        "blk.0.glu",
        "blk.1.attn_norm",
        "blk.1.attended_outputs",
        "blk.1.ffn_norm",
        "blk.1.glu",
    ];
    assert_eq!(quantized, expected);
}

#[test]
fn gate_and_up_are_products_of_one_input() {
    let build = |one_input: bool| {
        let mut small = Small::default();
        let [x, y] = ["x", "y"].map(|name| small.input(name));
        let gate = small.product("gate", x);
        let up = small.product("up", if one_input { x } else { y });
        let wide = small
            .0
            .one(
                "wide",
                graph::op::Glu { activation: graph::op::Activation::Silu, to: DType::F32 },
                &[gate, up],
            )
            .unwrap();
        labels(&fused(small.ending_in(wide)))
    };
    assert_eq!(build(true), ["mat_mul_swiglu"]);
    assert_eq!(build(false), ["mat_mul", "mat_mul", "swiglu"]);
}
