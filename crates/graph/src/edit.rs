//! Rewrites a graph: the one way in which passes change it.

use crate::{DType, Graph, Node, NodeId, Op, Shape, Source, Value, ValueId};

/// Collects changes to a graph and applies them at once.
///
/// Ids of the old graph stay valid until [`Editor::finish`]. A side table with an entry a node (devices) is
/// carried along: a new node takes the entry that is given with it.
#[derive(Debug)]
pub struct Editor<T> {
    graph: Graph,
    /// New nodes to insert before an old node.
    before: Vec<Vec<(Node, T)>>,
    removed: Vec<bool>,
    side: Vec<T>,
}

impl<T: Clone> Editor<T> {
    /// Starts from a graph and a table with an entry for each of its nodes.
    pub fn new(graph: Graph, side: Vec<T>) -> Editor<T> {
        assert_eq!(graph.nodes.len(), side.len());
        Editor {
            before: graph.nodes.iter().map(|_| Vec::new()).collect(),
            removed: vec![false; graph.nodes.len()],
            graph,
            side,
        }
    }

    /// The graph before the changes, with the values that were added and the inputs that were replaced.
    pub fn graph(&self) -> &Graph {
        &self.graph
    }

    /// The entry of a node.
    pub fn side(&self, id: NodeId) -> &T {
        &self.side[id.0 as usize]
    }

    /// True if a change took the node out.
    pub fn is_removed(&self, id: NodeId) -> bool {
        self.removed[id.0 as usize]
    }

    /// A new value; the node that is inserted or replaced with it among its outputs becomes its source.
    pub fn value(&mut self, name: String, shape: Shape, dtype: DType) -> ValueId {
        let source = Source::Input; // Set by `finish`.
        self.graph.values.push(Value { name, shape, dtype, source });
        ValueId(self.graph.values.len() as u32 - 1)
    }

    /// Puts a node in front of an old one.
    pub fn insert_before(&mut self, id: NodeId, node: Node, side: T) {
        self.before[id.0 as usize].push((node, side));
    }

    /// Puts another operation in the place of a node; name, layer and side entry stay.
    pub fn replace(&mut self, id: NodeId, op: impl Into<Op>, inputs: Vec<ValueId>, outputs: Vec<ValueId>) {
        let node = &mut self.graph.nodes[id.0 as usize];
        node.op = op.into();
        node.inputs = inputs;
        node.outputs = outputs;
    }

    /// Takes a node out. What read its outputs must be removed or replaced too.
    pub fn remove(&mut self, id: NodeId) {
        self.removed[id.0 as usize] = true;
    }

    /// Makes one input of a node another value.
    pub fn set_input(&mut self, id: NodeId, index: usize, value: ValueId) {
        self.graph.nodes[id.0 as usize].inputs[index] = value;
    }

    /// Applies the changes: nodes and values get new ids in order, values that nothing writes or names any more go.
    pub fn finish(self) -> (Graph, Vec<T>) {
        let mut nodes = Vec::new();
        let mut side = Vec::new();
        let old = self.graph.nodes.into_iter().zip(self.side).zip(self.before).zip(self.removed);
        for (((node, entry), before), removed) in old {
            for (new, new_entry) in before {
                nodes.push(new);
                side.push(new_entry);
            }
            if !removed {
                nodes.push(node);
                side.push(entry);
            }
        }

        let mut sources: Vec<Option<Source>> = vec![None; self.graph.values.len()];
        for (n, node) in nodes.iter().enumerate() {
            for (index, output) in node.outputs.iter().enumerate() {
                sources[output.0 as usize] = Some(Source::Node { node: NodeId(n as u32), index });
            }
            for input in &node.inputs {
                let source = self.graph.values[input.0 as usize].source;
                if matches!(source, Source::Input | Source::Weight) {
                    sources[input.0 as usize].get_or_insert(source);
                }
            }
        }
        let mut renamed = vec![ValueId(u32::MAX); sources.len()];
        let mut values = Vec::new();
        for (i, (mut value, source)) in self.graph.values.into_iter().zip(sources).enumerate() {
            if let Some(source) = source {
                renamed[i] = ValueId(values.len() as u32);
                value.source = source;
                values.push(value);
            }
        }
        let rename = |id: &mut ValueId| {
            *id = renamed[id.0 as usize];
            assert_ne!(id.0, u32::MAX, "a value is read that no node writes any more");
        };
        for node in &mut nodes {
            node.inputs.iter_mut().chain(&mut node.outputs).for_each(rename);
        }
        let mut outputs = self.graph.outputs;
        outputs.iter_mut().for_each(rename);
        (Graph { values, nodes, regions: self.graph.regions, outputs }, side)
    }
}
