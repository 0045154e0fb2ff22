//! Why a file is no model that can be run.

/// What, where, what was expected and what was found.
#[derive(Debug, thiserror::Error)]
pub enum ModelError {
    /// A key is missing, or has another type.
    #[error(transparent)]
    Metadata(#[from] gguf::Error),
    /// `general.architecture` names something else.
    #[error("general.architecture {found} is not supported; supported: {known}")]
    UnknownArchitecture {
        /// What the file says.
        found: String,
        /// What there is.
        known: String,
    },
    /// A hyper-parameter has an impossible value.
    #[error("key {key} is {found}: expected {expected}")]
    Value {
        /// The key.
        key: String,
        /// Its value.
        found: String,
        /// What is allowed.
        expected: String,
    },
    /// A tensor that the model needs is not in the file.
    #[error("tensor {name} is missing: expected shape {expected:?}")]
    MissingTensor {
        /// Its name.
        name: String,
        /// Its shape, fastest dimension first.
        expected: Vec<usize>,
    },
    /// A tensor has another shape.
    #[error("tensor {name} has shape {found:?}: expected {expected:?}")]
    TensorShape {
        /// Its name.
        name: String,
        /// What the configuration asks for.
        expected: Vec<usize>,
        /// What the file says.
        found: Vec<u64>,
    },
    /// A tensor has a type that the engine does not compute with.
    #[error("tensor {name} has type {found}: expected one of {supported}")]
    TensorType {
        /// Its name.
        name: String,
        /// Its type.
        found: String,
        /// Types that would serve.
        supported: String,
    },
    /// More positions than the file has embeddings of.
    #[error("a context of {n_ctx} positions: the file has embeddings of {n_ctx_train}")]
    Context {
        /// What was asked for.
        n_ctx: usize,
        /// What there is.
        n_ctx_train: usize,
    },
    /// A defect of the graph builder.
    #[error(transparent)]
    Graph(#[from] graph::GraphError),
}
