//! Makes files: metadata, a table of tensors, then their data as a stream.

use std::collections::HashSet;
use std::io::{self, Write};

use crate::parse::{self, MAGIC, NAME_BYTES_MAX};
use crate::{Array, ElementType, Error, Metadata, TensorInfo, Value};

/// Collects keys and tensors and writes a file of version 3.
///
/// ```
/// use gguf::{ElementType, GgufFile, Writer};
/// let mut w = Writer::new();
/// w.key("general.architecture", "llama")?;
/// w.tensor("t", &[2], ElementType::F32)?;
/// let bytes = w.to_vec(|_info| [1.0f32, 2.0].iter().flat_map(|x| x.to_le_bytes()).collect())?;
/// let file = GgufFile::from_bytes(&bytes)?;
/// assert_eq!(file.tensor("t").unwrap().dims, [2]);
/// # Ok::<(), gguf::Error>(())
/// ```
#[derive(Debug, Default)]
pub struct Writer {
    metadata: Metadata,
    tensors: Vec<TensorInfo>,
    names: HashSet<String>,
}

impl Writer {
    /// No keys, no tensors.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a key. `general.alignment` is one like any other, and sets the alignment of the data.
    pub fn key(&mut self, key: impl Into<String>, value: impl Into<Value>) -> Result<(), Error> {
        self.metadata.insert(key, value)
    }

    /// Adds a tensor to the table; dimensions fastest first.
    pub fn tensor(&mut self, name: impl Into<String>, dims: &[u64], ty: ElementType) -> Result<(), Error> {
        let name = name.into();
        if name.len() > NAME_BYTES_MAX {
            return Err(Error::NameTooLong { what: "tensor name", name });
        }
        if !self.names.insert(name.clone()) {
            return Err(Error::TensorTwice { tensor: name });
        }
        self.tensors.push(TensorInfo::new(name, dims.to_vec(), ty)?);
        Ok(())
    }

    /// The keys so far.
    pub fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    /// The tensors so far; where their bytes will be is not decided yet.
    pub fn tensors(&self) -> &[TensorInfo] {
        &self.tensors
    }

    /// Writes the file. `fill` is called for each tensor in order and writes its bytes, in as many
    /// pieces as it likes; their sum must be the size of the tensor.
    pub fn write_to<W: Write>(
        &self,
        sink: W,
        mut fill: impl FnMut(&TensorInfo, &mut TensorSink<'_>) -> io::Result<()>,
    ) -> Result<(), Error> {
        let failed = |error| Error::Write { error };
        let alignment: u64 = parse::alignment(&self.metadata)?.into();
        let mut sink = sink;
        let header = self.header(alignment)?;
        sink.write_all(&header).map_err(failed)?;
        if self.tensors.is_empty() {
            return sink.flush().map_err(failed);
        }
        pad(&mut sink, header.len() as u64, alignment).map_err(failed)?;
        for info in &self.tensors {
            let mut part = TensorSink { sink: &mut sink, written: 0, bytes: info.bytes };
            let filled = fill(info, &mut part);
            let found = part.written;
            if found > info.bytes || (filled.is_ok() && found < info.bytes) {
                let tensor = info.name.clone();
                return Err(Error::TensorData { tensor, expected: info.bytes, found });
            }
            filled.map_err(failed)?;
            pad(&mut sink, info.bytes, alignment).map_err(failed)?;
        }
        sink.flush().map_err(failed)
    }

    /// The bytes of the file. `data` gives the bytes of each tensor in order.
    pub fn to_vec(&self, mut data: impl FnMut(&TensorInfo) -> Vec<u8>) -> Result<Vec<u8>, Error> {
        let mut out = Vec::new();
        self.write_to(&mut out, |info, sink| sink.write_all(&data(info)))?;
        Ok(out)
    }

    fn header(&self, alignment: u64) -> Result<Vec<u8>, Error> {
        let mut out = Vec::new();
        out.extend(MAGIC);
        out.extend(3u32.to_le_bytes());
        out.extend((self.tensors.len() as u64).to_le_bytes());
        out.extend((self.metadata.len() as u64).to_le_bytes());
        for (key, value) in self.metadata.iter() {
            put_str(&mut out, key);
            put_value(&mut out, value);
        }
        let mut offset: u64 = 0;
        for info in &self.tensors {
            put_str(&mut out, &info.name);
            out.extend((info.dims.len() as u32).to_le_bytes());
            for dim in &info.dims {
                out.extend(dim.to_le_bytes());
            }
            out.extend(info.ty.id().to_le_bytes());
            out.extend(offset.to_le_bytes());
            offset = info
                .bytes
                .checked_next_multiple_of(alignment)
                .and_then(|bytes| bytes.checked_add(offset))
                .ok_or_else(|| Error::TensorSize {
                    tensor: info.name.clone(),
                    dims: info.dims.clone(),
                    ty: info.ty.name(),
                })?;
        }
        Ok(out)
    }
}

/// Where the bytes of one tensor go; takes no more than the tensor has.
pub struct TensorSink<'a> {
    sink: &'a mut dyn Write,
    written: u64,
    bytes: u64,
}

impl Write for TensorSink<'_> {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        if data.len() as u64 > self.bytes - self.written {
            self.written += data.len() as u64;
            return Err(io::Error::other("more data than the tensor has"));
        }
        let n = self.sink.write(data)?;
        self.written += n as u64;
        Ok(n)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.sink.flush()
    }
}

fn pad(sink: &mut impl Write, bytes: u64, alignment: u64) -> io::Result<()> {
    let padding = bytes.next_multiple_of(alignment) - bytes;
    io::copy(&mut io::Read::take(io::repeat(0), padding), sink)?;
    Ok(())
}

fn put_str(out: &mut Vec<u8>, s: &str) {
    out.extend((s.len() as u64).to_le_bytes());
    out.extend_from_slice(s.as_bytes());
}

macro_rules! put {
    ($($id:literal $variant:ident;)*) => {
        fn put_value(out: &mut Vec<u8>, value: &Value) {
            match value {
                $(Value::$variant(v) => {
                    out.extend(u32::to_le_bytes($id));
                    out.extend(v.to_le_bytes());
                })*
                Value::Bool(v) => {
                    out.extend(7u32.to_le_bytes());
                    out.push(u8::from(*v));
                }
                Value::String(v) => {
                    out.extend(8u32.to_le_bytes());
                    put_str(out, v);
                }
                Value::Array(v) => {
                    out.extend(9u32.to_le_bytes());
                    put_array(out, v);
                }
            }
        }

        fn put_array(out: &mut Vec<u8>, array: &Array) {
            let start = |out: &mut Vec<u8>, id: u32, count: usize| {
                out.extend(id.to_le_bytes());
                out.extend((count as u64).to_le_bytes());
            };
            match array {
                $(Array::$variant(v) => {
                    start(out, $id, v.len());
                    out.extend(v.iter().flat_map(|x| x.to_le_bytes()));
                })*
                Array::Bool(v) => {
                    start(out, 7, v.len());
                    out.extend(v.iter().map(|&b| u8::from(b)));
                }
                Array::String(v) => {
                    start(out, 8, v.len());
                    v.iter().for_each(|s| put_str(out, s));
                }
            }
        }
    };
}

put! { 0 U8; 1 I8; 2 U16; 3 I16; 4 U32; 5 I32; 6 F32; 10 U64; 11 I64; 12 F64; }
