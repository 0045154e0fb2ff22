//! Names, shapes and types of a file's tensors, without their bytes.

use std::collections::HashMap;

use graph::DType;

use crate::ModelError;

/// Shape and type of one tensor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TensorMeta {
    /// Dimensions, fastest first.
    pub dims: Vec<u64>,
    /// The name of its type as GGUF writes it.
    pub type_name: &'static str,
}

/// The tensors of a file by name.
#[derive(Clone, Debug, Default)]
pub struct Tensors(HashMap<String, TensorMeta>);

impl Tensors {
    /// From the table of a file.
    pub fn of(file: &gguf::GgufFile) -> Tensors {
        Tensors::of_table(file.tensors())
    }

    /// From a table without a file.
    pub fn of_table(table: &[gguf::TensorInfo]) -> Tensors {
        let meta = |t: &gguf::TensorInfo| TensorMeta { dims: t.dims.clone(), type_name: t.ty.name() };
        Tensors(table.iter().map(|t| (t.name.clone(), meta(t))).collect())
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// True if there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The tensor of that name.
    pub fn get(&self, name: &str) -> Option<&TensorMeta> {
        self.0.get(name)
    }

    /// The type of a tensor that must be there with that shape.
    pub(crate) fn require(&self, name: &str, expected: &[usize]) -> Result<DType, ModelError> {
        let Some(meta) = self.get(name) else {
            return Err(ModelError::MissingTensor { name: name.to_owned(), expected: expected.to_vec() });
        };
        let mut found = meta.dims.clone();
        found.resize(found.len().max(expected.len()), 1);
        let fits =
            found.iter().zip(expected.iter().chain(std::iter::repeat(&1))).all(|(f, e)| *f == *e as u64);
        if !fits {
            return Err(ModelError::TensorShape {
                name: name.to_owned(),
                expected: expected.to_vec(),
                found: meta.dims.clone(),
            });
        }
        DType::weights().find(|t| t.name() == meta.type_name).ok_or_else(|| ModelError::TensorType {
            name: name.to_owned(),
            found: meta.type_name.to_owned(),
            supported: DType::weights().map(DType::name).collect::<Vec<_>>().join(", "),
        })
    }

    /// The same tensors, all of type F32.
    pub(crate) fn dequantized(&self) -> Tensors {
        let f32 = |m: &TensorMeta| TensorMeta { dims: m.dims.clone(), type_name: DType::F32.name() };
        Tensors(self.0.iter().map(|(name, meta)| (name.clone(), f32(meta))).collect())
    }
}
