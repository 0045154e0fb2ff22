//! Writes the calls.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use backend::{At, Call, Operand, WeightHandle, Window};
use graph::{NodeId, Source, ValueId};

use crate::{
    Arena, CopyIn, DeviceId, Devices, MemoryPlan, Options, Placed, Program, ProgramInput, ProgramOutput,
    ProgramWeight, Split, Verify, verify,
};

/// Cuts the nodes into splits, brings values that cross devices to their staging windows, and turns ids into
/// windows.
pub fn schedule(placed: &Placed, devices: &Devices, memory: &MemoryPlan, options: &Options) -> Program {
    let runs = |id: &NodeId| memory.is_alive(*id) && !placed.graph.facts(*id).view;
    let nodes: Vec<NodeId> = placed.graph.node_ids().filter(runs).collect();
    let mut writer = Writer { placed, memory, weights: Vec::new(), numbers: HashMap::new() };
    let splits = writer.splits(&nodes);
    let weights = writer.weights;
    let arenas = memory
        .plan
        .spaces
        .iter()
        .map(|s| Arena { bytes: s.bytes, bytes_lower_bound: s.lower_bound, bytes_naive: s.naive })
        .collect();
    Program {
        capacity: options.capacity,
        splits,
        inputs: inputs(placed, memory, devices.len()),
        outputs: outputs(placed, memory),
        weights,
        regions: regions(placed),
        arenas,
        lives: (options.verify != Verify::Off).then(|| verify::lives(memory, &nodes)),
    }
}

struct Writer<'a> {
    placed: &'a Placed,
    memory: &'a MemoryPlan,
    weights: Vec<ProgramWeight>,
    numbers: HashMap<(ValueId, DeviceId), u32>,
}

impl Writer<'_> {
    fn splits(&mut self, nodes: &[NodeId]) -> Vec<Split> {
        let graph = &self.placed.graph;
        let mut staged = HashSet::new();
        let mut splits = Vec::new();
        for run in nodes.chunk_by(|a, b| self.placed.device(*a) == self.placed.device(*b)) {
            let device = self.placed.device(run[0]);
            let mut copies = Vec::new();
            for input in run.iter().flat_map(|id| &graph.node(*id).inputs) {
                if let Some(copy) = self.copy_in(*input, device)
                    && staged.insert((*input, device))
                {
                    copies.push(copy);
                }
            }
            let calls: Arc<[Call]> = run.iter().map(|id| self.call(*id)).collect();
            splits.push(Split { device, copies, calls });
        }
        splits
    }

    /// How an input gets to the device, if another one wrote it.
    fn copy_in(&self, id: ValueId, device: DeviceId) -> Option<CopyIn> {
        let value = self.placed.graph.value(id);
        let Source::Node { node, .. } = value.source else { return None };
        let from_device = self.placed.device(node);
        (from_device != device).then(|| CopyIn {
            from_device,
            from: window(self.memory, id, from_device).expect("a value that is read has memory"),
            to: window(self.memory, id, device).expect("a value that is read has memory"),
            shape: value.shape,
            dtype: value.dtype,
        })
    }

    fn call(&mut self, id: NodeId) -> Call {
        let (node, device) = (self.placed.graph.node(id), self.placed.device(id));
        let scratch = self.memory.scratch(id).map(to_window);
        Call {
            op: node.op.clone(),
            inputs: node.inputs.iter().map(|v| self.operand(*v, device)).collect(),
            outputs: node.outputs.iter().map(|v| self.operand(*v, device)).collect(),
            scratch,
            name: node.name.clone(),
        }
    }

    fn operand(&mut self, id: ValueId, device: DeviceId) -> Operand {
        let value = self.placed.graph.value(id);
        let at = if value.source == Source::Weight {
            let weights = &mut self.weights;
            let number = *self.numbers.entry((id, device)).or_insert_with(|| {
                weights.push(ProgramWeight { name: value.name.clone(), device });
                weights.len() as u32 - 1
            });
            At::Weight(WeightHandle(number))
        } else {
            window(self.memory, id, device).map_or(At::Nowhere, At::Arena)
        };
        Operand { shape: value.shape, dtype: value.dtype, at }
    }
}

fn to_window((offset, bytes): (u64, u64)) -> Window {
    Window { offset: offset as usize, bytes: bytes as usize }
}

fn window(memory: &MemoryPlan, id: ValueId, device: DeviceId) -> Option<Window> {
    memory.window(id, device).map(to_window)
}

fn inputs(placed: &Placed, memory: &MemoryPlan, devices: usize) -> Vec<ProgramInput> {
    let everywhere =
        |id| (0..devices).filter_map(move |d| Some((DeviceId(d), window(memory, id, DeviceId(d))?)));
    placed
        .graph
        .values_from(Source::Input)
        .map(|(id, value)| ProgramInput {
            name: value.name.clone(),
            shape: value.shape,
            dtype: value.dtype,
            windows: everywhere(id).collect(),
        })
        .collect()
}

fn outputs(placed: &Placed, memory: &MemoryPlan) -> Vec<ProgramOutput> {
    let output = |id: &ValueId| {
        let value = placed.graph.value(*id);
        let Source::Node { node, .. } = value.source else { panic!("an output is computed") };
        let device = placed.device(node);
        ProgramOutput {
            name: value.name.clone(),
            shape: value.shape,
            dtype: value.dtype,
            device,
            window: window(memory, *id, device).expect("an output has memory"),
        }
    };
    placed.graph.outputs.iter().map(output).collect()
}

fn regions(placed: &Placed) -> Vec<(graph::Region, Option<DeviceId>)> {
    let mut homes = vec![None; placed.graph.regions.len()];
    for id in placed.graph.node_ids() {
        let facts = placed.graph.facts(id);
        for region in facts.reads.iter().chain(&facts.writes) {
            homes[region.0 as usize] = Some(placed.device(id));
        }
    }
    placed.graph.regions.iter().cloned().zip(homes).collect()
}
