//! Gives every node a device.

use graph::{Graph, NodeId, RegionId};

use crate::{CompileError, DeviceId, Devices};

/// Returns a device for each node: the preferred one, unless the node touches a region that lives elsewhere
/// or the device has no kernel for it. A region lives where the first node that touches it prefers to be.
pub fn assign(
    graph: &Graph,
    devices: &Devices,
    preferred: &dyn Fn(NodeId) -> DeviceId,
) -> Result<Vec<DeviceId>, CompileError> {
    let mut homes: Vec<Option<DeviceId>> = vec![None; graph.regions.len()];
    graph
        .node_ids()
        .map(|id| {
            let facts = graph.facts(id);
            let touched = || facts.reads.iter().chain(&facts.writes).map(|r: &RegionId| r.0 as usize);
            let bound = touched().find_map(|r| homes[r]);
            let wanted = bound.unwrap_or_else(|| preferred(id));
            let device = first_able(graph, devices, id, wanted, bound.is_some())?;
            for region in touched() {
                homes[region].get_or_insert(device);
            }
            Ok(device)
        })
        .collect()
}

/// The wanted device if it can run the node, else the first that can; a node that is bound to a region's
/// device has no choice.
fn first_able(
    graph: &Graph,
    devices: &Devices,
    id: NodeId,
    wanted: DeviceId,
    bound: bool,
) -> Result<DeviceId, CompileError> {
    let node = graph.node(id);
    let types: Vec<_> = node.inputs.iter().map(|v| graph.value(*v).dtype).collect();
    let refusal = match devices[wanted.0].supports(&node.op, &types) {
        Ok(()) => return Ok(wanted),
        Err(reason) => reason,
    };
    let other = (0..devices.len()).find(|d| devices[*d].supports(&node.op, &types).is_ok());
    match other {
        Some(device) if !bound => Ok(DeviceId(device)),
        _ => Err(CompileError::Unsupported {
            node: node.name.clone(),
            op: node.op.facts().label,
            reason: refusal,
        }),
    }
}
