//! Builds a graph in execution order.

use crate::{DType, Graph, GraphError, Node, NodeId, Op, Region, RegionId, Shape, Source, Value, ValueId};

/// Appends values and nodes; sources come before consumers by construction, and the shape rule of each
/// operation is applied as it is added.
#[derive(Debug, Default)]
pub struct Builder {
    graph: Graph,
    layer: Option<usize>,
}

impl Builder {
    /// An empty graph.
    pub fn new() -> Builder {
        Builder::default()
    }

    /// Nodes added from here on belong to this layer.
    pub fn set_layer(&mut self, layer: Option<usize>) {
        self.layer = layer;
    }

    /// A value that is filled before the run.
    pub fn input(&mut self, name: &str, shape: Shape, dtype: DType) -> ValueId {
        self.value(name.to_owned(), shape, dtype, Source::Input)
    }

    /// A tensor of the model. The same name gives the same value.
    pub fn weight(&mut self, name: &str, shape: Shape, dtype: DType) -> ValueId {
        let known = self.graph.values_from(Source::Weight).find(|(_, v)| v.name == name).map(|(id, _)| id);
        known.unwrap_or_else(|| self.value(name.to_owned(), shape, dtype, Source::Weight))
    }

    /// A persistent region.
    pub fn region(&mut self, region: Region) -> RegionId {
        self.graph.regions.push(region);
        RegionId(self.graph.regions.len() as u32 - 1)
    }

    /// Appends a node and returns its outputs; the error says which node and what does not fit.
    pub fn node(
        &mut self,
        name: &str,
        op: impl Into<Op>,
        inputs: &[ValueId],
    ) -> Result<Vec<ValueId>, GraphError> {
        let op = op.into();
        let metas: Vec<_> = inputs
            .iter()
            .map(|id| {
                let value = self.graph.value(*id);
                (value.shape, value.dtype)
            })
            .collect();
        let results =
            op.infer(&metas).map_err(|reason| GraphError::Shape { node: name.to_owned(), reason })?;
        let node = NodeId(self.graph.nodes.len() as u32);
        let many = results.len() > 1;
        let outputs: Vec<_> = results
            .into_iter()
            .enumerate()
            .map(|(index, (shape, dtype))| {
                let value_name = if many { format!("{name}.{index}") } else { name.to_owned() };
                self.value(value_name, shape, dtype, Source::Node { node, index })
            })
            .collect();
        self.graph.nodes.push(Node {
            op,
            inputs: inputs.to_vec(),
            outputs: outputs.clone(),
            name: name.to_owned(),
            layer: self.layer,
        });
        Ok(outputs)
    }

    /// Appends a node with one output.
    pub fn one(&mut self, name: &str, op: impl Into<Op>, inputs: &[ValueId]) -> Result<ValueId, GraphError> {
        let outputs = self.node(name, op, inputs)?;
        assert_eq!(outputs.len(), 1, "{name} has {} outputs", outputs.len());
        Ok(outputs[0])
    }

    /// The shape of a value.
    pub fn shape(&self, value: ValueId) -> Shape {
        self.graph.value(value).shape
    }

    /// Marks a value as read after the run.
    pub fn output(&mut self, value: ValueId) {
        self.graph.outputs.push(value);
    }

    /// The graph.
    pub fn finish(self) -> Graph {
        self.graph
    }

    fn value(&mut self, name: String, shape: Shape, dtype: DType, source: Source) -> ValueId {
        self.graph.values.push(Value { name, shape, dtype, source });
        ValueId(self.graph.values.len() as u32 - 1)
    }
}
