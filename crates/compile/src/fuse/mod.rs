//! Puts nodes together, one file a pattern, a switch each.
//!
//! A fusion happens only within a device that has the fused operation, and never changes a bit of the result.
//! Nodes that were put into another are taken out of the graph.

mod add_norm;
mod bias_rope_store;
mod mat_mul_add;
mod mat_mul_glu;
mod mat_mul_many;
mod quantize;

use backend::Fused;
use graph::{Editor, NodeId, Op, Source, ValueId};

use crate::plan::alive_nodes;
use crate::{DeviceId, Devices, Placed};

/// Finds a pattern and rewrites it.
type Pattern = fn(&mut Pass);
/// Whether a pattern is on, or a device has its fused operation.
type Switch = fn(&Fused) -> bool;

/// Applies the patterns that are switched on.
pub fn fuse(placed: Placed, devices: &Devices, fusions: &Fused) -> Placed {
    // `mat_mul_add` before `add_norm`: with the product in the residual stream at once there is one wide value less when
    // the widest of all, the input of the product, lives. `add_norm` before `quantize`, which then finds the norm inside;
    // `mat_mul_glu` before `mat_mul_many`, which would take gate and up first.
    let patterns: [(Pattern, Switch); 6] = [
        (mat_mul_add::apply, |f| f.mat_mul_add),
        (add_norm::apply, |f| f.add_norm),
        (quantize::apply, |f| f.quantize),
        (mat_mul_glu::apply, |f| f.mat_mul_glu),
        (mat_mul_many::apply, |f| f.mat_mul_many),
        (bias_rope_store::apply, |f| f.bias_rope_store),
    ];
    patterns.into_iter().filter(|(_, on)| on(fusions)).fold(placed, |placed, (apply, on)| {
        let able = devices.iter().map(|d| on(&d.caps().fused)).collect();
        let readers = placed.graph.readers();
        let alive = alive_nodes(&placed.graph);
        let nodes = placed.graph.node_ids().collect();
        let mut pass =
            Pass { editor: Editor::new(placed.graph, placed.devices), readers, alive, able, nodes };
        apply(&mut pass);
        let (graph, devices) = pass.editor.finish();
        Placed { graph, devices }
    })
}

/// One pattern's walk over the graph.
struct Pass {
    editor: Editor<DeviceId>,
    /// Readers of each value before the pass.
    readers: Vec<Vec<NodeId>>,
    /// Nodes that have an effect.
    alive: Vec<bool>,
    /// Which devices have the fused operation.
    able: Vec<bool>,
    /// The nodes before the pass.
    nodes: Vec<NodeId>,
}

/// A product of one weight.
struct Product {
    node: NodeId,
    x: ValueId,
    weight: ValueId,
}

impl Pass {
    /// The nodes that are still there.
    fn nodes(&self) -> impl Iterator<Item = NodeId> + use<> {
        self.nodes.clone().into_iter()
    }

    /// The node that writes a value, if the value is read by `reader` alone and all is on one able device.
    fn sole_source(&self, value: ValueId, reader: NodeId) -> Option<NodeId> {
        let only_reader = self.readers[value.0 as usize] == [reader];
        let is_output = self.editor.graph().outputs.contains(&value);
        let source = self.source(value)?;
        (only_reader && !is_output && self.together(source, reader)).then_some(source)
    }

    /// The product behind a value that `reader` alone reads, if all is on one able device.
    fn product(&self, value: ValueId, reader: NodeId) -> Option<Product> {
        let node = self.sole_source(value, reader)?;
        match (&self.editor.graph().node(node).op, &self.editor.graph().node(node).inputs[..]) {
            (Op::MatMul(_), [x, weight]) => Some(Product { node, x: *x, weight: *weight }),
            _ => None,
        }
    }

    /// The node that writes a value, if one does and no earlier match took it.
    fn source(&self, value: ValueId) -> Option<NodeId> {
        match self.editor.graph().value(value).source {
            Source::Node { node, .. } if !self.editor.is_removed(node) => Some(node),
            _ => None,
        }
    }

    /// True if somebody needs the value beside one of its readers.
    fn lives_on(&self, value: ValueId, beside: NodeId) -> bool {
        let readers = &self.readers[value.0 as usize];
        self.editor.graph().outputs.contains(&value)
            || readers.iter().any(|r| *r != beside && self.alive[r.0 as usize])
    }

    /// True if both nodes are on one device that has the fused operation.
    fn together(&self, a: NodeId, b: NodeId) -> bool {
        let device = *self.editor.side(a);
        device == *self.editor.side(b) && self.able[device.0]
    }
}
