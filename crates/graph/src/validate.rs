//! The rules that every graph obeys, checked after each pass in tests.

use std::collections::HashSet;

use crate::{Graph, NodeId, Source, ValueId};

/// What is wrong with a graph.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GraphError {
    /// A shape rule refused the inputs.
    #[error("node {node}: {reason}")]
    Shape {
        /// The node's name.
        node: String,
        /// What does not fit.
        reason: String,
    },
    /// An id points outside the graph.
    #[error("{place}: there is no {what}")]
    Dangling {
        /// Where the id stands.
        place: String,
        /// The id.
        what: String,
    },
    /// A node reads a value that it or a later node writes: a cycle, or an order that is not one.
    #[error("node {node} reads {value}, which is written by {writer}, not before it")]
    Order {
        /// The reader.
        node: String,
        /// The value.
        value: String,
        /// The writer.
        writer: String,
    },
    /// A value and the node that claims to write it do not agree.
    #[error("value {value}: its source and the outputs of the nodes do not agree")]
    Writer {
        /// The value.
        value: String,
    },
    /// Two inputs, or two weights, of one name.
    #[error("two {kind} are named {name}")]
    Name {
        /// `inputs` or `weights`.
        kind: &'static str,
        /// The name.
        name: String,
    },
}

/// Checks every rule of the crate's documentation.
pub fn validate(graph: &Graph) -> Result<(), GraphError> {
    ids_are_inside(graph)?;
    writers_agree(graph)?;
    order_is_execution_order(graph)?;
    shapes_follow_rules(graph)?;
    names_are_unique(graph)
}

fn ids_are_inside(graph: &Graph) -> Result<(), GraphError> {
    let value_exists = |id: &ValueId| (id.0 as usize) < graph.values.len();
    for node in &graph.nodes {
        if let Some(id) = node.inputs.iter().chain(&node.outputs).find(|id| !value_exists(id)) {
            return Err(GraphError::Dangling {
                place: format!("node {}", node.name),
                what: format!("value {id}"),
            });
        }
        let facts = node.op.facts();
        if let Some(id) =
            facts.reads.iter().chain(&facts.writes).find(|r| r.0 as usize >= graph.regions.len())
        {
            return Err(GraphError::Dangling {
                place: format!("node {}", node.name),
                what: format!("region {}", id.0),
            });
        }
    }
    match graph.outputs.iter().find(|id| !value_exists(id)) {
        Some(id) => Err(GraphError::Dangling { place: "outputs".into(), what: format!("value {id}") }),
        None => Ok(()),
    }
}

fn writers_agree(graph: &Graph) -> Result<(), GraphError> {
    let mut claimed = vec![None; graph.values.len()];
    for id in graph.node_ids() {
        for (index, output) in graph.node(id).outputs.iter().enumerate() {
            let source = Source::Node { node: id, index };
            if claimed[output.0 as usize].replace(source).is_some() {
                return Err(GraphError::Writer { value: graph.value(*output).name.clone() });
            }
        }
    }
    for (value, claim) in graph.values.iter().zip(claimed) {
        let expected = match value.source {
            Source::Node { .. } => Some(value.source),
            Source::Input | Source::Weight => None,
        };
        if claim != expected {
            return Err(GraphError::Writer { value: value.name.clone() });
        }
    }
    Ok(())
}

fn order_is_execution_order(graph: &Graph) -> Result<(), GraphError> {
    for id in graph.node_ids() {
        for input in &graph.node(id).inputs {
            let Source::Node { node: writer, .. } = graph.value(*input).source else { continue };
            if writer >= id {
                let name = |id: NodeId| graph.node(id).name.clone();
                return Err(GraphError::Order {
                    node: name(id),
                    value: graph.value(*input).name.clone(),
                    writer: name(writer),
                });
            }
        }
    }
    Ok(())
}

fn shapes_follow_rules(graph: &Graph) -> Result<(), GraphError> {
    let meta = |id: &ValueId| (graph.value(*id).shape, graph.value(*id).dtype);
    for node in &graph.nodes {
        let inputs: Vec<_> = node.inputs.iter().map(meta).collect();
        let outputs: Vec<_> = node.outputs.iter().map(meta).collect();
        let error = |reason| GraphError::Shape { node: node.name.clone(), reason };
        let expected = node.op.infer(&inputs).map_err(error)?;
        if expected != outputs {
            return Err(error("the outputs do not have the shapes that the operation gives".into()));
        }
    }
    Ok(())
}

fn names_are_unique(graph: &Graph) -> Result<(), GraphError> {
    for (kind, source) in [("inputs", Source::Input), ("weights", Source::Weight)] {
        let mut seen = HashSet::new();
        for (_, value) in graph.values_from(source) {
            if !seen.insert(&value.name) {
                return Err(GraphError::Name { kind, name: value.name.clone() });
            }
        }
    }
    Ok(())
}
