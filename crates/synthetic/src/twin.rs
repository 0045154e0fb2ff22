//! A llama model written again as the qwen2 model that computes the same: a qwen2 file that writes
//! real text wherever there is a small llama that does.
//!
//! The two architectures differ in two things. Qwen2 adds biases to Q, K and V: the twin gets biases
//! of 0. And the rotation of llama turns neighbouring elements of a head, that of qwen2 elements half
//! a head apart: the rows of Q and K move accordingly, as whole rows, so that quantized data stay as
//! they are.

use gguf::{ElementType, GgufFile, Metadata, TensorInfo, Value, Writer};

use crate::Error;

/// The file of the qwen2 model that computes what this llama model computes.
///
/// # Errors
/// Another architecture, sizes that contradict each other, or a llama that no qwen2 equals: stretched
/// or partial rotation, biases of its own.
pub fn llama_to_qwen2(file: &GgufFile) -> Result<Vec<u8>, Error> {
    let heads = Heads::read(file)?;
    let mut w = Writer::new();
    add_keys(&mut w, file.metadata())?;
    for info in file.tensors() {
        heads.check(info)?;
        w.tensor(info.name.as_str(), &info.dims, info.ty)?;
        if let Some((bias, rows)) = bias_of(info) {
            if file.tensor(&bias).is_some() {
                return Err(no_twin(format!("tensor {bias} is there already")));
            }
            w.tensor(bias, &[rows], ElementType::F32)?;
        }
    }
    let bytes = w.to_vec(|info| match file.tensor(&info.name) {
        Some(original) => heads.halves(original, file.data(original)),
        None => vec![0; info.bytes as usize],
    })?;
    Ok(bytes)
}

/// All keys under the new name of the architecture, which comes first.
fn add_keys(w: &mut Writer, metadata: &Metadata) -> Result<(), Error> {
    w.key(ARCHITECTURE, "qwen2")?;
    for (key, value) in metadata.iter().filter(|(key, _)| *key != ARCHITECTURE) {
        let value: Value = value.clone();
        match key.strip_prefix("llama.") {
            Some(rest) => w.key(format!("qwen2.{rest}"), value)?,
            None => w.key(key, value)?,
        }
    }
    Ok(())
}

const ARCHITECTURE: &str = "general.architecture";

/// The name and length of the bias that follows a Q, K or V matrix.
fn bias_of(info: &TensorInfo) -> Option<(String, u64)> {
    let name = info.name.strip_suffix(".weight")?;
    let part = name.rsplit('.').next()?;
    matches!(part, "attn_q" | "attn_k" | "attn_v").then(|| (format!("{name}.bias"), info.ne(1)))
}

/// How rows of Q and K make up heads.
struct Heads {
    query: u64,
    kv: u64,
    /// Rows of a head.
    dim: u64,
}

impl Heads {
    fn read(file: &GgufFile) -> Result<Heads, Error> {
        let metadata = file.metadata();
        let architecture = metadata.require_str(ARCHITECTURE)?;
        if architecture != "llama" {
            return Err(no_twin(format!("{ARCHITECTURE} is {architecture}, expected llama")));
        }
        if file.tensor("rope_freqs.weight").is_some() {
            return Err(no_twin("tensor rope_freqs.weight stretches the rotation".to_owned()));
        }
        let scaling = metadata.get_str("llama.rope.scaling.type")?.unwrap_or("none");
        if scaling != "none" {
            return Err(no_twin(format!("llama.rope.scaling.type is {scaling}, expected none")));
        }
        let count = |key: &str| metadata.get_u64(&format!("llama.{key}"));
        let query = u64::from(metadata.require_u32("llama.attention.head_count")?);
        let kv = count("attention.head_count_kv")?.unwrap_or(query);
        let embd = u64::from(metadata.require_u32("llama.embedding_length")?);
        let by_width = embd.checked_div(query).unwrap_or(0);
        let dim = count("attention.key_length")?.unwrap_or(by_width);
        let rotated = count("rope.dimension_count")?.unwrap_or(dim);
        if rotated != dim || dim == 0 || !dim.is_multiple_of(2) {
            return Err(no_twin(format!("{rotated} elements of heads of {dim} turn, expected all in pairs")));
        }
        Ok(Heads { query, kv, dim })
    }

    /// How many heads the rows of a tensor make up, if they are to move.
    fn count(&self, info: &TensorInfo) -> Option<u64> {
        let part = info.name.strip_suffix(".weight")?.rsplit('.').next()?;
        match part {
            "attn_q" => Some(self.query),
            "attn_k" => Some(self.kv),
            _ => None,
        }
    }

    /// Refuses a matrix whose rows are not those of its heads.
    fn check(&self, info: &TensorInfo) -> Result<(), Error> {
        let Some(heads) = self.count(info) else { return Ok(()) };
        if info.dims.len() == 2 && Some(info.ne(1)) == heads.checked_mul(self.dim) {
            return Ok(());
        }
        let (name, dims, dim) = (&info.name, &info.dims, self.dim);
        Err(no_twin(format!("tensor {name} has the shape {dims:?}, expected {heads} heads of {dim} rows")))
    }

    /// The data with the rows of Q and K where qwen2 has them: of each head first all even rows, then
    /// all odd ones. The tensor has passed [`Heads::check`].
    fn halves(&self, info: &TensorInfo, data: &[u8]) -> Vec<u8> {
        if self.count(info).is_none() || data.is_empty() {
            return data.to_vec();
        }
        let row_bytes = data.len() / info.ne(1) as usize;
        let mut out = Vec::with_capacity(data.len());
        for head in data.chunks_exact(row_bytes * self.dim as usize) {
            for first in [0, 1] {
                for row in head.chunks_exact(row_bytes).skip(first).step_by(2) {
                    out.extend_from_slice(row);
                }
            }
        }
        out
    }
}

fn no_twin(reason: String) -> Error {
    Error::NoTwin { reason }
}
