//! Where the engine finds the bytes of weights: in the mapped file, or dequantized for the reference run.

use std::ops::Range;
use std::sync::Arc;

use backend::SharedBytes;
use gguf::{GgufFile, TensorInfo};
use graph::DType;
use runtime::WeightSource;

/// The file's tensors as they are.
pub(crate) struct Mapped(pub Arc<GgufFile>);

/// The file's tensors as f32, each made when it is asked for.
pub(crate) struct Dequantized(pub Arc<GgufFile>);

struct MappedTensor {
    file: Arc<GgufFile>,
    info: TensorInfo,
    bytes: Range<usize>,
}

impl AsRef<[u8]> for MappedTensor {
    fn as_ref(&self) -> &[u8] {
        &self.file.data(&self.info)[self.bytes.clone()]
    }
}

struct Floats(Vec<u8>);

impl AsRef<[u8]> for Floats {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

/// The tensor that a weight's name names, and which of its bytes.
fn find<'a>(file: &'a GgufFile, name: &str) -> Option<(&'a TensorInfo, Range<usize>)> {
    let slice = models::slice(name);
    let info = file.tensor(slice.tensor)?;
    let bytes = info.bytes as usize;
    let Some(rows) = slice.rows else { return Some((info, 0..bytes)) };
    let row_bytes = DType::from_name(info.ty.name())?.row_bytes(info.ne(0) as usize);
    let part = rows.start * row_bytes..rows.end * row_bytes;
    (part.end <= bytes).then_some((info, part))
}

impl WeightSource for Mapped {
    fn bytes(&self, name: &str) -> Option<SharedBytes> {
        let (info, bytes) = find(&self.0, name)?;
        Some(Arc::new(MappedTensor { file: self.0.clone(), info: info.clone(), bytes }))
    }
}

impl WeightSource for Dequantized {
    fn bytes(&self, name: &str) -> Option<SharedBytes> {
        let (info, part) = find(&self.0, name)?;
        let dtype = DType::from_name(info.ty.name())?;
        let row_bytes = dtype.row_bytes(info.ne(0) as usize);
        let mut row = vec![0.0; info.ne(0) as usize];
        let mut bytes = Vec::with_capacity(part.len() / row_bytes * row.len() * size_of::<f32>());
        for source in self.0.data(info)[part].chunks_exact(row_bytes) {
            cpu::matmul::dequantize_row(dtype, source, &mut row);
            bytes.extend(row.iter().flat_map(|x| x.to_ne_bytes()));
        }
        Some(Arc::new(Floats(bytes)))
    }
}
