//! A good model, and the same with one change.

use gguf::{ElementType, GgufFile, Metadata, Value, Writer};
use models::{Model, ModelError, Tensors};

/// A micro model: 2 layers, rows of 64, 4 heads of 16 that share 2 KV heads, 320 tokens.
pub fn file(arch: &str, preset: &str) -> GgufFile {
    GgufFile::from_bytes(&synthetic::build(arch, preset, "Q8_0", 1, None).unwrap()).unwrap()
}

/// The metadata with keys set to other values, or taken out.
pub fn with_keys(metadata: &Metadata, changes: &[(&str, Option<Value>)]) -> Metadata {
    let mut changed = Metadata::new();
    for (key, value) in metadata.iter().filter(|(key, _)| changes.iter().all(|(k, _)| k != key)) {
        changed.insert(key, value.clone()).unwrap();
    }
    for (key, value) in changes {
        if let Some(value) = value {
            changed.insert(*key, value.clone()).unwrap();
        }
    }
    changed
}

/// What a change may do to a tensor.
pub struct Tensor {
    pub dims: Vec<u64>,
    pub ty: ElementType,
}

/// The tensors with one changed, or taken out where the change returns `None`.
pub fn with_tensor(file: &GgufFile, name: &str, change: impl Fn(Tensor) -> Option<Tensor>) -> Tensors {
    let mut w = Writer::new();
    for info in file.tensors() {
        let tensor = Tensor { dims: info.dims.clone(), ty: info.ty };
        let tensor = if info.name == name { change(tensor) } else { Some(tensor) };
        if let Some(Tensor { dims, ty }) = tensor {
            w.tensor(info.name.as_str(), &dims, ty).unwrap();
        }
    }
    let bytes = w.to_vec(|info| vec![0; info.bytes as usize]).unwrap();
    Tensors::of(&GgufFile::from_bytes(&bytes).unwrap())
}

/// The model of the good file with other keys.
pub fn model_with(arch: &str, changes: &[(&str, Option<Value>)]) -> Result<Model, ModelError> {
    let file = file(arch, "micro");
    Model::new(&with_keys(file.metadata(), changes), Tensors::of(&file))
}
