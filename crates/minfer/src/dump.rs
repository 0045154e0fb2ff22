//! The body's graph as the passes leave it, for people and programs.

use memplan::Strategy;

use crate::session::SessionOptions;
use crate::{Error, Model};

/// How a graph is written down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GraphFormat {
    /// GraphViz.
    Dot,
    /// One JSON value.
    Json,
    /// A line a node.
    Text,
}

impl Model {
    /// The graph from token ids to hidden rows after assignment, lowering and fusion.
    pub fn dump_graph(&self, options: &SessionOptions, format: GraphFormat) -> Result<String, Error> {
        let placed = self.blueprint(options, 1, Strategy::Packed)?.body.placed;
        Ok(match format {
            GraphFormat::Dot => placed.to_dot(),
            GraphFormat::Json => placed.to_json().to_string(),
            GraphFormat::Text => placed.to_text(),
        })
    }
}
