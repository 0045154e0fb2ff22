//! Which device gets which node.

use backend::{Device, Null};
use compile::{CompileError, DeviceId, Options, assign};
use graph::{DType, Extents, InPlace, NodeId, Op, Shape, Source};

use crate::common::*;

/// A device that has no kernel for some operations.
struct Picky {
    inner: Null,
    refuses: fn(&Op) -> bool,
}

impl Device for Picky {
    fn caps(&self) -> &backend::Caps {
        self.inner.caps()
    }

    fn supports(&self, op: &Op, inputs: &[DType]) -> Result<(), String> {
        if (self.refuses)(op) {
            Err("not on this device".to_owned())
        } else {
            self.inner.supports(op, inputs)
        }
    }

    fn activations(&self, weight: DType) -> DType {
        self.inner.activations(weight)
    }

    fn writes_in_place(&self, op: &Op, right: InPlace) -> bool {
        self.inner.writes_in_place(op, right)
    }

    fn scratch_bytes(&self, op: &Op, inputs: &[(Shape, DType)], capacity: &Extents) -> usize {
        self.inner.scratch_bytes(op, inputs, capacity)
    }
}

fn picky(name: &str, refuses: fn(&Op) -> bool) -> Picky {
    Picky { inner: Null::new(name), refuses }
}

#[test]
fn unsupported_nodes_go_to_a_device_that_can_or_are_an_error() {
    let graph = body(&model("llama", "micro", "F32", 2));
    let full = Null::new("full");
    let no_swiglu = picky("picky", |op| matches!(op, Op::Glu(_)));

    let devices = assign(&graph, &[&no_swiglu, &full], &|_| DeviceId(0)).unwrap();
    for (node, device) in graph.nodes.iter().zip(&devices) {
        assert_eq!(device.0, usize::from(matches!(node.op, Op::Glu(_))), "{}", node.name);
    }

    // What touches a region cannot leave it: the first store decided.
    let no_attention = picky("picky", |op| matches!(op, Op::Attention(_)));
    for devices in [&[&no_swiglu as &dyn Device][..], &[&no_attention, &full]] {
        match assign(&graph, devices, &|_| DeviceId(0)).unwrap_err() {
            CompileError::Unsupported { node, op, reason } => {
                let expected = if devices.len() == 1 {
                    ("blk.0.glu", "swiglu")
                } else {
                    ("blk.0.attention", "attention")
                };
                assert_eq!((node.as_str(), op), expected);
                assert_eq!(reason, "not on this device");
            }
            error => panic!("{error}"),
        }
    }

    // A store that the preferred device cannot do brings the region, and all that touches it, elsewhere.
    let no_store = picky("picky", |op| matches!(op, Op::KvStore(_)));
    let devices = assign(&graph, &[&no_store, &full], &|_| DeviceId(0)).unwrap();
    for (node, device) in graph.nodes.iter().zip(&devices) {
        let touches = matches!(node.op, Op::KvStore(_) | Op::Attention(_));
        assert_eq!(device.0, usize::from(touches), "{}", node.name);
    }
}

/// Number of the device that a node should go to.
type Rule = fn(NodeId) -> usize;

#[test]
fn a_region_and_its_nodes_share_a_device() {
    for (arch, layers) in ARCHITECTURES {
        let graph = body(&model(arch, "micro", "Q8_0", layers));
        let nulls = nulls(3);
        let rules: [(&str, Rule); 4] = [
            ("one after the other", |id| id.0 as usize % 3),
            ("pairs", |id| id.0 as usize / 2 % 3),
            ("backwards", |id| 2 - id.0 as usize % 3),
            ("sevens", |id| id.0 as usize / 7 % 3),
        ];
        for (what, rule) in rules {
            let prefer = |id| DeviceId(rule(id));
            let devices = assign(&graph, &as_devices(&nulls), &prefer).unwrap();
            let mut homes = vec![None; graph.regions.len()];
            for id in graph.node_ids() {
                let (facts, device) = (graph.facts(id), devices[id.0 as usize]);
                for region in facts.reads.iter().chain(&facts.writes) {
                    let home = *homes[region.0 as usize].get_or_insert(device);
                    assert_eq!(home, device, "{what}: {}", graph.node(id).name);
                }
                if facts.view {
                    let Source::Node { node, .. } = graph.value(graph.node(id).inputs[0]).source else {
                        panic!("only products are looked into");
                    };
                    assert_eq!(devices[node.0 as usize], device, "{what}: a view is where its bytes are");
                } else if facts.reads.is_empty() && facts.writes.is_empty() {
                    assert_eq!(device.0, rule(id), "{what}: a node that is free to go has its way");
                }
            }
            // The program says the same.
            let options = Options::new(CAPACITY);
            let program = compile::compile(graph.clone(), &as_devices(&nulls), &prefer, &options).unwrap();
            let found: Vec<_> = program.regions.iter().map(|(_, device)| *device).collect();
            assert_eq!(found, homes);
        }
    }
}

#[test]
fn kv_regions_two_per_layer() {
    for arch in ["llama", "qwen2"] {
        let graph = body(&model(arch, "micro", "Q8_0", 3));
        let preferred = last_layer_on_second(&graph);
        let nulls = nulls(2);
        let prefer = |id: NodeId| preferred[id.0 as usize];
        let options = Options::new(CAPACITY);
        let program = compile::compile(graph, &as_devices(&nulls), &prefer, &options).unwrap();
        let names: Vec<_> =
            program.regions.iter().map(|(r, d)| (r.name.as_str(), r.layer, d.unwrap().0)).collect();
        let expected = [
            ("kv.0.k", 0, 0),
            ("kv.0.v", 0, 0),
            ("kv.1.k", 1, 0),
            ("kv.1.v", 1, 0),
            ("kv.2.k", 2, 1),
            ("kv.2.v", 2, 1),
        ];
        assert_eq!(names, expected);
        for (region, _) in &program.regions {
            assert_eq!(region.bytes_per_position(), 2 * 16 * 2, "two heads of 16 f16");
        }
    }
}
