//! The compute graph: what a model computes, as data.
//!
//! # What is in a graph
//!
//! - A **value** is a tensor: a [`Shape`] of up to four dimensions (`ne[0]` fastest, as in GGUF), a
//!   [`DType`] and a [`Source`]: an input of the graph (found by name), a weight (found by name), or the
//!   output of one node.
//! - A **node** is one operation: `{ op, inputs, outputs, name, layer }`. It writes zero or more values.
//!   A node with no output acts on a persistent region (it stores into the KV cache).
//! - **Node order is execution order.** Every value is written by exactly one node, before any node that
//!   reads it. A graph in which a node reads what it or a later node writes is refused.
//! - A **region** is memory that outlives every run, such as the keys of one layer. Nodes name the regions
//!   that they touch in their [`OpFacts`]; the order of nodes orders the accesses.
//! - An **output** of the graph is a value that is read after the run.
//!
//! # Shapes
//!
//! A dimension is a number, or a number times one of [`Symbol`]: how many tokens, output rows or sequences
//! a run has. These counts are data ([`Extents`]), not structure: one graph serves every batch.
//!
//! # Facts
//!
//! What passes need to know of an operation is one record beside it, [`OpFacts`]: passes ask the record and
//! never match on names. Adding an operation is one file in `op/` and one line in the list there.

mod builder;
mod dtype;
mod dump;
mod edit;
mod ids;
pub mod op;
mod shape;
mod validate;

pub use builder::Builder;
pub use dtype::{A32_ROW_ALIGN, DType};
pub use dump::{to_dot, to_json, to_text};
pub use edit::Editor;
pub use ids::{NodeId, RegionId, ValueId};
pub use op::{InPlace, Op, OpFacts};
pub use shape::{Dim, Extents, Shape, Symbol};
pub use validate::{GraphError, validate};

use serde::{Deserialize, Serialize};

/// Where a value comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Source {
    /// Filled before the run, found by the value's name.
    Input,
    /// A tensor of the model, found by the value's name.
    Weight,
    /// Output number `index` of a node.
    Node {
        /// The node that writes the value.
        node: NodeId,
        /// Which of its outputs.
        index: usize,
    },
}

/// A tensor in the graph.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Value {
    /// Unique among inputs and among weights; descriptive for the rest.
    pub name: String,
    /// Dimensions, fastest first.
    pub shape: Shape,
    /// Element type.
    pub dtype: DType,
    /// Who writes it.
    pub source: Source,
}

impl Value {
    /// Bytes that the value takes when a run has these extents.
    pub fn bytes(&self, extents: &Extents) -> usize {
        self.shape.bytes(self.dtype, extents)
    }
}

/// One operation and the values that it reads and writes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Node {
    /// What is computed.
    pub op: Op,
    /// Values read, in the order that the operation defines.
    pub inputs: Vec<ValueId>,
    /// Values written.
    pub outputs: Vec<ValueId>,
    /// For people: where in the model this is.
    pub name: String,
    /// The layer that the node belongs to, if any.
    pub layer: Option<usize>,
}

/// Memory that outlives every run: rows of one layer's cache, kept by pages of positions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Region {
    /// `kv.N.k` or `kv.N.v`; `kv.k` and `kv.v` where all layers use one after the other.
    pub name: String,
    /// The layer that declares it.
    pub layer: usize,
    /// Element type of the stored rows.
    pub dtype: DType,
    /// KV heads.
    pub heads: usize,
    /// Elements in one head's row.
    pub head_dim: usize,
    /// Only so many of the latest positions are read; pages that hold none of them may be given back.
    pub window: Option<usize>,
}

impl Region {
    /// Bytes of one position: a row for each head.
    pub fn bytes_per_position(&self) -> usize {
        self.heads * self.dtype.row_bytes(self.head_dim)
    }
}

/// A graph: values, nodes in execution order, persistent regions, outputs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Graph {
    /// All values, indexed by [`ValueId`].
    pub values: Vec<Value>,
    /// All nodes in execution order, indexed by [`NodeId`].
    pub nodes: Vec<Node>,
    /// Persistent regions, indexed by [`RegionId`].
    pub regions: Vec<Region>,
    /// Values read after the run.
    pub outputs: Vec<ValueId>,
}

impl Graph {
    /// The value with that id. Panics if the id is of another graph.
    pub fn value(&self, id: ValueId) -> &Value {
        &self.values[id.0 as usize]
    }

    /// The node with that id. Panics if the id is of another graph.
    pub fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id.0 as usize]
    }

    /// The region with that id. Panics if the id is of another graph.
    pub fn region(&self, id: RegionId) -> &Region {
        &self.regions[id.0 as usize]
    }

    /// Ids of the nodes in execution order.
    pub fn node_ids(&self) -> impl Iterator<Item = NodeId> + use<> {
        (0..self.nodes.len() as u32).map(NodeId)
    }

    /// The values of one kind of source, with their ids.
    pub fn values_from(&self, source: Source) -> impl Iterator<Item = (ValueId, &Value)> {
        self.values
            .iter()
            .enumerate()
            .filter(move |(_, v)| v.source == source)
            .map(|(i, v)| (ValueId(i as u32), v))
    }

    /// For each value, the nodes that read it, in execution order (a node that reads it twice is there twice).
    pub fn readers(&self) -> Vec<Vec<NodeId>> {
        let mut readers = vec![Vec::new(); self.values.len()];
        for id in self.node_ids() {
            for input in &self.node(id).inputs {
                readers[input.0 as usize].push(id);
            }
        }
        readers
    }

    /// The facts of a node's operation.
    pub fn facts(&self, id: NodeId) -> OpFacts {
        self.node(id).op.facts()
    }
}
