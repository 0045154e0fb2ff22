//! Gives every value its bytes: the graph in the planner's terms.

use std::collections::HashMap;

use graph::{Graph, NodeId, Op, Source, ValueId};
use memplan::{Overwrite, Pin, Plan, Problem, Space, SpaceId, Step, Value};

use crate::{CompileError, DeviceId, Devices, Options, Placed, Verify};

/// The problem that was put to the planner, its answer, and who is who.
#[derive(Debug)]
pub struct MemoryPlan {
    /// Spaces are devices, steps are nodes.
    pub problem: Problem,
    /// Where everything is.
    pub plan: Plan,
    /// A graph value on a device: where it is written or filled, or its staging window.
    copies: HashMap<(ValueId, DeviceId), memplan::ValueId>,
    /// Scratch of each node.
    scratch: Vec<Option<memplan::ValueId>>,
    /// Nodes that run.
    alive: Vec<bool>,
    /// Guard bytes on either side of each value, by space.
    margins: Vec<u64>,
}

impl MemoryPlan {
    /// Proves the plan with the independent checker.
    pub fn check(&self) -> Result<(), memplan::Fault> {
        memplan::check(&self.problem, &self.plan)
    }

    /// Offset and bytes of a value on a device; `None` if it has no memory.
    pub fn window(&self, value: ValueId, device: DeviceId) -> Option<(u64, u64)> {
        self.placed(*self.copies.get(&(value, device))?)
    }

    /// Offset and bytes of a node's scratch.
    pub fn scratch(&self, node: NodeId) -> Option<(u64, u64)> {
        self.placed(self.scratch[node.0 as usize]?)
    }

    /// Every graph value on every device that has it, and what the planner calls it.
    pub fn copies(&self) -> impl Iterator<Item = (ValueId, DeviceId, memplan::ValueId)> {
        self.copies.iter().map(|((value, device), planned)| (*value, *device, *planned))
    }

    /// True if the node has an effect: something reads what it writes.
    pub fn is_alive(&self, node: NodeId) -> bool {
        self.alive[node.0 as usize]
    }

    /// Guard bytes on either side of each value of a space.
    pub(crate) fn margin(&self, space: SpaceId) -> u64 {
        self.margins[space.index()]
    }

    fn placed(&self, id: memplan::ValueId) -> Option<(u64, u64)> {
        let placement = self.plan.placements[id.index()].as_ref()?;
        let margin = self.margin(self.problem.values[id.index()].space);
        Some((placement.offset + margin, placement.bytes - 2 * margin))
    }
}

/// Plans the memory of a placed graph at the capacity of `options`.
pub fn plan(placed: &Placed, devices: &Devices, options: &Options) -> Result<MemoryPlan, CompileError> {
    let alive = alive_nodes(&placed.graph);
    let mut problem = Problem::default();
    for device in devices {
        let caps = device.caps();
        problem.add_space(Space {
            name: caps.name.clone(),
            align: caps.arena_align as u64,
            limit: caps.arena_limit.map(|b| b as u64),
        });
    }
    // A unit of alignment, so that the values inside are aligned as well.
    let margin = |align| if options.verify == Verify::Guards { align } else { 0 };
    let margins: Vec<u64> = problem.spaces.iter().map(|space| margin(space.align)).collect();
    let mut builder = ProblemBuilder { placed, devices, options, problem, margins, copies: HashMap::new() };
    let mut scratch = vec![None; placed.graph.nodes.len()];
    for id in placed.graph.node_ids() {
        let step = if alive[id.0 as usize] {
            scratch[id.0 as usize] = builder.scratch(id);
            builder.step(id, scratch[id.0 as usize])
        } else {
            Step::new(placed.graph.node(id).name.clone(), [], [])
        };
        builder.problem.add_step(step);
    }
    let ProblemBuilder { problem, copies, margins, .. } = builder;
    let plan_options = memplan::Options { strategy: options.strategy, in_place: options.in_place };
    let plan = memplan::plan(&problem, &plan_options)?;
    Ok(MemoryPlan { problem, plan, copies, scratch, alive, margins })
}

/// Nodes that write a region or a value that an output depends on.
pub(crate) fn alive_nodes(graph: &Graph) -> Vec<bool> {
    let mut alive = vec![false; graph.nodes.len()];
    let mut needed = vec![false; graph.values.len()];
    graph.outputs.iter().for_each(|v| needed[v.0 as usize] = true);
    for (n, node) in graph.nodes.iter().enumerate().rev() {
        if !node.op.facts().writes.is_empty() || node.outputs.iter().any(|v| needed[v.0 as usize]) {
            alive[n] = true;
            node.inputs.iter().for_each(|v| needed[v.0 as usize] = true);
        }
    }
    alive
}

struct ProblemBuilder<'a> {
    placed: &'a Placed,
    devices: &'a Devices<'a>,
    options: &'a Options,
    problem: Problem,
    margins: Vec<u64>,
    copies: HashMap<(ValueId, DeviceId), memplan::ValueId>,
}

impl ProblemBuilder<'_> {
    /// What a node reads and writes. Writes are made known first, so that they exist when they are read.
    fn step(&mut self, id: NodeId, scratch: Option<memplan::ValueId>) -> Step {
        let graph = &self.placed.graph;
        let (node, facts, device) = (graph.node(id), graph.facts(id), self.placed.device(id));
        let mut reads = Vec::new();
        for input in &node.inputs {
            self.operand(*input, device, &mut reads);
        }
        if facts.view {
            // A view is another name for bytes of its input: the step itself touches nothing.
            let Op::View(view) = &node.op else { unreachable!("only views are views") };
            let parent = self.copies[&(node.inputs[0], device)];
            let value = self.value(node.outputs[0], device).viewing(parent, view.offset_bytes as u64);
            self.add(node.outputs[0], device, value);
            return Step::new(node.name.clone(), [], []);
        }
        let mut writes = Vec::new();
        for output in &node.outputs {
            let value = self.value(*output, device);
            writes.push(self.add(*output, device, value));
        }
        let mut step = Step::new(node.name.clone(), reads, writes.iter().copied());
        for right in facts.in_place {
            if self.devices[device.0].writes_in_place(&node.op, right)
                && let Some(read) = self.copies.get(&(node.inputs[right.input], device))
            {
                step = step.overwriting(Overwrite { write: writes[right.output], read: *read });
            }
        }
        step.writes.extend(scratch);
        step
    }

    /// Adds the reads of an input: its window on the device, and on another device the original as well,
    /// since the copy is taken from it.
    fn operand(&mut self, id: ValueId, device: DeviceId, reads: &mut Vec<memplan::ValueId>) {
        let graph = &self.placed.graph;
        let known = self.copies.get(&(id, device)).copied();
        let here = match graph.value(id).source {
            Source::Weight => return,
            Source::Input => known.unwrap_or_else(|| {
                let value = self.value(id, device).pinned(Pin::Input);
                self.add(id, device, value)
            }),
            Source::Node { node, .. } => {
                let home = self.placed.device(node);
                if home != device {
                    reads.push(self.copies[&(id, home)]);
                }
                known.unwrap_or_else(|| {
                    assert_ne!(home, device, "nodes are in execution order");
                    let value = self.value(id, device).pinned(Pin::Fresh);
                    self.add(id, device, value)
                })
            }
        };
        reads.push(here);
    }

    fn value(&self, id: ValueId, device: DeviceId) -> Value {
        let value = self.placed.graph.value(id);
        let bytes = value.bytes(&self.options.capacity) as u64;
        let pin = if self.placed.graph.outputs.contains(&id) { Pin::Output } else { Pin::None };
        self.sized(value.name.clone(), bytes, device).pinned(pin)
    }

    /// A value with its guards. Views have them too: they then lie in their parents as they would without.
    fn sized(&self, name: String, bytes: u64, device: DeviceId) -> Value {
        Value::new(name, bytes + 2 * self.margins[device.0], SpaceId::new(device.0))
    }

    fn add(&mut self, id: ValueId, device: DeviceId, value: Value) -> memplan::ValueId {
        let added = self.problem.add_value(value);
        self.copies.insert((id, device), added);
        added
    }

    /// Working memory of a node, alive while it runs.
    fn scratch(&mut self, id: NodeId) -> Option<memplan::ValueId> {
        let graph = &self.placed.graph;
        let (node, device) = (graph.node(id), self.placed.device(id));
        let metas: Vec<_> =
            node.inputs.iter().map(|v| (graph.value(*v).shape, graph.value(*v).dtype)).collect();
        let bytes = self.devices[device.0].scratch_bytes(&node.op, &metas, &self.options.capacity);
        (bytes > 0).then(|| {
            let value = self.sized(format!("{}.scratch", node.name), bytes as u64, device);
            self.problem.add_value(value.pinned(Pin::Scratch))
        })
    }
}
