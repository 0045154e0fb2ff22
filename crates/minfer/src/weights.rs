//! Where the engine finds the bytes of weights: in the mapped file, or dequantized for the reference run.

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
}

impl AsRef<[u8]> for MappedTensor {
    fn as_ref(&self) -> &[u8] {
        self.file.data(&self.info)
    }
}

struct Floats(Vec<u8>);

impl AsRef<[u8]> for Floats {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl WeightSource for Mapped {
    fn bytes(&self, name: &str) -> Option<SharedBytes> {
        let info = self.0.tensor(name)?.clone();
        Some(Arc::new(MappedTensor { file: self.0.clone(), info }))
    }
}

impl WeightSource for Dequantized {
    fn bytes(&self, name: &str) -> Option<SharedBytes> {
        let info = self.0.tensor(name)?;
        let dtype = DType::from_name(info.ty.name())?;
        let columns = info.ne(0) as usize;
        let mut row = vec![0.0; columns];
        let mut bytes = Vec::with_capacity(info.elements() as usize * size_of::<f32>());
        for source in self.0.data(info).chunks_exact(dtype.row_bytes(columns)) {
            cpu::matmul::dequantize_row(dtype, source, &mut row);
            bytes.extend(row.iter().flat_map(|x| x.to_ne_bytes()));
        }
        Some(Arc::new(Floats(bytes)))
    }
}
