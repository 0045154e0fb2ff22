//! From a graph to a program: pure passes, each a function.
//!
//! [`assign()`] gives every node a device, [`lower()`] inserts what the devices' kernels need, [`fuse()`] puts
//! nodes together, [`plan()`] gives every value its bytes, [`schedule()`] writes the calls. [`compile()`] is all
//! of them in that order. Nothing here owns a buffer, reads a weight's bytes or looks at a clock: the same
//! inputs give the same [`Program`].

mod assign;
mod fuse;
mod lower;
mod plan;
mod program;
mod schedule;
mod verify;

pub use assign::assign;
pub use fuse::fuse;
pub use lower::lower;
pub use plan::{MemoryPlan, plan};
pub use program::{Arena, CopyIn, Program, ProgramInput, ProgramOutput, ProgramWeight, Split};
pub use schedule::schedule;
pub use verify::{Life, Lives, Verify};

use backend::{Device, Fused};
use graph::{Extents, Graph, NodeId};
use memplan::Strategy;
use serde::Serialize;

/// A device of the program, by its number in the list given to [`compile`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
pub struct DeviceId(pub usize);

/// The devices, seen through their pure half.
pub type Devices<'a> = [&'a dyn Device];

/// A graph and the device of each of its nodes.
#[derive(Clone, Debug, PartialEq)]
pub struct Placed {
    /// The graph.
    pub graph: Graph,
    /// A device for each node.
    pub devices: Vec<DeviceId>,
}

impl Placed {
    /// The device of a node.
    pub fn device(&self, id: NodeId) -> DeviceId {
        self.devices[id.0 as usize]
    }

    /// Text dump with devices.
    pub fn to_text(&self) -> String {
        graph::to_text(&self.graph, |id| Some(self.device(id).0))
    }

    /// DOT dump with device colours.
    pub fn to_dot(&self) -> String {
        graph::to_dot(&self.graph, |id| Some(self.device(id).0))
    }

    /// JSON dump with devices.
    pub fn to_json(&self) -> serde_json::Value {
        graph::to_json(&self.graph, |id| Some(self.device(id).0))
    }
}

/// What a program is compiled for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Options {
    /// The largest batch.
    pub capacity: Extents,
    /// Fusions that may be used, where the devices have them.
    pub fusions: Fused,
    /// How memory is planned.
    pub strategy: Strategy,
    /// Whether results may take the place of operands.
    pub in_place: bool,
    /// What the program tells whoever checks its memory while it runs.
    pub verify: Verify,
}

impl Options {
    /// Every fusion, packed memory, in place, nothing to check.
    pub fn new(capacity: Extents) -> Options {
        Options {
            capacity,
            fusions: Fused::ALL,
            strategy: Strategy::Packed,
            in_place: true,
            verify: Verify::Off,
        }
    }
}

/// Why a graph cannot be compiled.
#[derive(Debug, thiserror::Error)]
pub enum CompileError {
    /// No device has a kernel for a node.
    #[error("node {node}: no device can run {op}: {reason}")]
    Unsupported {
        /// The node.
        node: String,
        /// Its operation.
        op: &'static str,
        /// What the preferred device said.
        reason: String,
    },
    /// The graph breaks a rule.
    #[error(transparent)]
    Graph(#[from] graph::GraphError),
    /// The memory planner refused.
    #[error("memory plan: {0}")]
    Plan(#[from] memplan::PlanError),
    /// The checker found a fault in the plan: a defect of the planner, never of the input.
    #[error("memory plan is wrong: {0}")]
    Check(#[from] memplan::Fault),
}

/// Runs every pass. `preferred` is the device that a node should go to; a node that touches a region goes
/// to the region's device, and one that its device cannot run to one that can.
///
/// In debug builds every pass is followed by [`graph::validate`] and the plan by [`memplan::check`].
pub fn compile(
    graph: Graph,
    devices: &Devices,
    preferred: &dyn Fn(NodeId) -> DeviceId,
    options: &Options,
) -> Result<Program, CompileError> {
    let placed = place(graph, devices, preferred, &options.fusions)?;
    let memory = plan(&placed, devices, options)?;
    if cfg!(debug_assertions) {
        memory.check()?;
    }
    Ok(schedule(&placed, devices, &memory, options))
}

/// The passes that change the graph: assign, lower, fuse.
pub fn place(
    graph: Graph,
    devices: &Devices,
    preferred: &dyn Fn(NodeId) -> DeviceId,
    fusions: &Fused,
) -> Result<Placed, CompileError> {
    graph::validate(&graph)?;
    let assigned = assign(&graph, devices, preferred)?;
    let lowered = lower(Placed { graph, devices: assigned }, devices);
    debug_validate(&lowered)?;
    let fused = fuse(lowered, devices, fusions);
    debug_validate(&fused)?;
    Ok(fused)
}

fn debug_validate(placed: &Placed) -> Result<(), CompileError> {
    if cfg!(debug_assertions) {
        graph::validate(&placed.graph)?;
    }
    Ok(())
}
