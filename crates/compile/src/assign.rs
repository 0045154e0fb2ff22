//! Gives every node a device.

use graph::{Graph, NodeId, RegionId, Source};

use crate::{CompileError, DeviceId, Devices};

/// Returns a device for each node: the preferred one, unless the node touches a region that lives elsewhere
/// or the device has no kernel for it. Regions that one node touches live together, where the first node
/// that touches one of them prefers to be. A view is where the bytes are that it looks into.
pub fn assign(
    graph: &Graph,
    devices: &Devices,
    preferred: &dyn Fn(NodeId) -> DeviceId,
) -> Result<Vec<DeviceId>, CompileError> {
    let groups = groups_of_regions(graph);
    let mut homes: Vec<Option<DeviceId>> = vec![None; groups.len()];
    let mut assigned: Vec<DeviceId> = Vec::with_capacity(graph.nodes.len());
    for id in graph.node_ids() {
        let facts = graph.facts(id);
        let group = facts.reads.iter().chain(&facts.writes).next().map(|r: &RegionId| groups[r.0 as usize]);
        let home = group.and_then(|g| homes[g]);
        let bound = home.or_else(|| {
            let looked_into = graph.node(id).inputs.first().filter(|_| facts.view)?;
            match graph.value(*looked_into).source {
                Source::Node { node, .. } => Some(assigned[node.0 as usize]),
                Source::Input | Source::Weight => None,
            }
        });
        let wanted = bound.unwrap_or_else(|| preferred(id));
        let device = first_able(graph, devices, id, wanted, bound.is_some())?;
        if let Some(group) = group {
            homes[group] = Some(device);
        }
        assigned.push(device);
    }
    Ok(assigned)
}

/// For each region the lowest region that it must live with, since some node touches both.
fn groups_of_regions(graph: &Graph) -> Vec<usize> {
    let mut groups: Vec<usize> = (0..graph.regions.len()).collect();
    for id in graph.node_ids() {
        let facts = graph.facts(id);
        let touched: Vec<usize> =
            facts.reads.iter().chain(&facts.writes).map(|r| groups[r.0 as usize]).collect();
        if let Some(lowest) = touched.iter().min() {
            groups.iter_mut().filter(|g| touched.contains(g)).for_each(|g| *g = *lowest);
        }
    }
    groups
}

/// The wanted device if it can run the node, else the first that can; a node that is bound to what lives on
/// a device has no choice.
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
