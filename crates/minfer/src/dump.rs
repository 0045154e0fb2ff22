//! The body's graph as the passes leave it, for people and programs.

use compile::DeviceId;

use crate::session::{self, SessionOptions};
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
        let params = session::params(self, options)?;
        let model = if options.reference { &self.model.dequantized() } else { &self.model };
        let cpu = session::cpu(std::sync::Arc::new(cpu::ThreadPool::new(1)), options)?;
        let graph = model.body(&params.body).map_err(runtime::RuntimeError::from)?;
        let placed = compile::place(graph, &[&cpu], &|_| DeviceId(0), &params.fusions)
            .map_err(runtime::RuntimeError::from)?;
        Ok(match format {
            GraphFormat::Dot => placed.to_dot(),
            GraphFormat::Json => placed.to_json().to_string(),
            GraphFormat::Text => placed.to_text(),
        })
    }
}
